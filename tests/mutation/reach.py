"""Find the tests that reach each mutation, in one run with a probe at each place."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutation.mutations import Mutation, Spans

NOT_COPIED = (".git", ".venv", "*_cache", "__pycache__", ".hypothesis", "build", "dist")
FILES_AT_ONCE = 30  # that are run with probes
FOLDERS = ["unit", "queries", "console", "terminal", "drills", "workers"]  # cheap ones first
# Read SQL files as text, or hold what is made of them.
TEXT_TESTS = ("tests/unit/", "tests/queries/test_golden.py", "tests/queries/test_guards.py")
_CACHED = re.compile(r"^\s*@(lru_)?cache\b", re.MULTILINE)
OPEN = "(__import__('queries._probe', fromlist=['hit']).hit({}) or ("


class Run(NamedTuple):
    """End of a run of tests.

    ``ended`` has outcome and seconds of each; ``code`` is None if the time was over.
    """

    code: int | None
    ended: dict[str, tuple[str, float]]
    output: str


class Tree:
    """A copy of a checkout in which tests can be run, and its files changed."""

    def __init__(self, root: Path, work: Path, name: str) -> None:
        self.folder = work / name
        self._root, self._work = root, work
        if not self.folder.exists():
            shutil.copytree(root, self.folder, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
        shutil.copy(Path(__file__).with_name("plugin.py"), work / "mutation_plugin.py")

    def read(self, file: str) -> str:
        return (self.folder / file).read_text("utf-8")

    def write(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text, "utf-8")

    def restore(self, file: str) -> None:
        """Take a file from the checkout again, with its time of change."""
        shutil.copy2(self._root / file, self.folder / file)

    def run(self, tests: Iterable[str], *options: str, limit: float | None = None, probes: bool = False) -> Run:
        """Run these tests in this order, for ``limit`` seconds at most."""
        report, chosen = self._work / f"{self.folder.name}-report.jsonl", self._work / f"{self.folder.name}-tests.txt"
        report.unlink(missing_ok=True)
        chosen.write_text("\n".join(tests), "utf-8")
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        env |= {"MUTATION_REPORT": str(report), "PYTHONPATH": f"{self.folder}:{self._work}"}
        env |= {"XDG_CACHE_HOME": str(self._work / "cache"), **({"MUTATION_PROBES": "1"} if probes else {})}
        words = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "mutation_plugin", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*words, *options, *([f"@{chosen}"] if chosen.stat().st_size else [])],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, code = process.communicate(timeout=limit)[0], process.returncode
        except subprocess.TimeoutExpired:
            output, code = "", None
            process.send_signal(signal.SIGINT)  # the servers of the tests are shut down
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        return Run(code, {test: (outcome, seconds) for test, outcome, seconds in lines(report)}, output)

    def collect(self, marks: str) -> list[str]:
        """Return the ids of the tests that the expression chooses, cheap folders first."""
        answer = self.run([], "--collect-only", "-m", marks, "-n0")
        if answer.code != 0:
            raise SystemExit(f"the tests of {self._root} cannot be collected:\n{answer.output[-2000:]}")
        return sorted(answer.ended, key=lambda test: _rank(test.split("/")[1]))


def _rank(folder: str) -> int:
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


def lines(file: Path) -> list[Any]:
    """Return the values of a file of JSON lines, without lines that were cut."""
    found = []
    for line in file.read_text("utf-8").splitlines() if file.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


class Reach:
    """The tests that reach each mutation.

    Files in the folder: ``probed/``, ``hits.jsonl``, ``ended.jsonl``.
    """

    def __init__(self, root: Path, work: Path, mutations: Sequence[Mutation], tests: Sequence[str]) -> None:
        self._work, self._tests = work, tests
        self._ended = work / "ended.jsonl"
        new = not (work / "probed").exists()
        self._tree = Tree(root, work, "probed")
        if new:
            self._place(mutations)

    def _place(self, mutations: Sequence[Mutation]) -> None:
        """Write the probes into the copy."""
        shutil.copy(Path(__file__).with_name("probe.py"), self._tree.folder / "queries/_probe.py")
        for file in {mutation.file for mutation in mutations}:
            if (self._tree.folder / file).exists():
                here = [mutation for mutation in mutations if mutation.file == file]
                self._tree.write(file, probed(self._tree.read(file), here))
        # Statements are watched in each process, and each process parses the engines itself.
        for file, text in (
            ("queries/db/__init__.py", "from queries import _probe; _probe.watch()"),
            ("queries/contract/builtin.py", "_read = lambda *_: None"),
        ):
            self._tree.write(file, f"{self._tree.read(file)}\n{text}\n")

    def missing(self) -> list[str]:
        """Return the tests that have not been run with probes."""
        ended = {test for test, *_ in lines(self._ended)}
        return [test for test in self._tests if test not in ended]

    def complete(self, jobs: int, marks: str, folders: Sequence[str] = ()) -> None:
        """Run the missing tests, some files at a time.

        It can be ended and continued at any time.
        """
        files = list(dict.fromkeys(test.partition("::")[0] for test in self.missing()))
        chosen = [file for file in files if not folders or file.startswith(tuple(folders))]
        for some in (chosen[start : start + FILES_AT_ONCE] for start in range(0, len(chosen), FILES_AT_ONCE)):
            began = time.monotonic()
            run = self._tree.run(some, "-m", marks, f"-n{jobs}", "--dist=load", probes=True)
            ended = {test: [test, *end] for test, end in run.ended.items()}
            lost = [t for t in self.missing() if t.partition("::")[0] in some and t not in ended]
            with self._ended.open("a", encoding="utf-8") as out:
                for line in [*ended.values(), *([test, "lost", 0.0] for test in lost)]:
                    out.write(json.dumps(line) + "\n")
            spent = time.monotonic() - began
            print(f"probed {some[0]} and others: {len(ended)} tests, {len(lost)} lost, {spent:.0f} s", flush=True)

    def of(self, mutation: Mutation) -> list[str]:
        """Return the tests that reach a mutation, the likeliest and cheapest first.

        Results may be cached (the contract's always are), and a fixture may serve a whole file: then all tests of the
        file count.
        """
        cached = mutation.file.startswith("queries/contract/") or bool(_CACHED.search(self._tree.read(mutation.file)))
        seconds = {test: spent for test, _, spent in lines(self._ended)}
        hits = [(test, when) for number, test, when in lines(self._work / "hits.jsonl") if number == mutation.number]
        exact = {test for test, _ in hits}
        files = {test.partition("::")[0] for test, when in hits if test and (cached or when != "(call)")}
        words = {word for word in Path(mutation.file).stem.split("_") if len(word) > 3}

        def order(test: str) -> tuple[bool, bool, float]:
            same = any(word in test.partition("::")[0] for word in words)
            return test not in exact, not same, seconds.get(test, 0)

        found = [test for test in self._tests if test in exact or test.partition("::")[0] in files]
        if mutation.file.endswith(".sql"):
            found += [test for test in self._tests if test.startswith(TEXT_TESTS) and test not in exact]
        return sorted(dict.fromkeys(found), key=order)


def probed(source: str, mutations: Sequence[Mutation]) -> str:
    """Return a source with a probe at the place of each mutation that it has."""
    places = [(at, m) for m in mutations if (at := m.offset(source)) is not None]
    if mutations[0].file.endswith(".sql"):
        inserts = [(at, 0, 0, f"/*mutation {m.number}*/") for at, m in places]
    else:
        spans = Spans(source)
        expressions = [spans.of(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr)]
        inserts = []
        for at, m in places:
            around = [(start, end) for start, end in expressions if start <= at and at + len(m.old) <= end]
            start, end = min(around, key=lambda span: span[1] - span[0])
            inserts += [(start, 1, -end, OPEN.format(m.number)), (end, 0, -start, "))")]
    for at, _, _, text in sorted(inserts, reverse=True):
        source = source[:at] + text + source[at:]
    return source
