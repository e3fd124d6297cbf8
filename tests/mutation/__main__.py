"""Make mutations, run the tests that reach each, and print killed or survived."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.mutation.mutations import Mutation, choose
from tests.mutation.reach import Reach, Tree, lines

TEST_S = 240  # until a test that hangs is ended, and has failed


def main() -> None:
    here = Path(__file__).parents[2]
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, help="default: a random one, which is printed")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", default="", metavar="PATH", help="a file or folder of the checkout")
    parser.add_argument("--list", action="store_true", help="print the mutations only")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the mutations")
    parser.add_argument("--load", type=Path, metavar="FILE", help="take saved mutations, also of another checkout")
    parser.add_argument("--numbers", default="", help="only these, such as 3,17")
    parser.add_argument("--root", type=Path, default=here, help="the checkout with the code and the tests")
    parser.add_argument(
        "--tests", default="not proof", metavar="MARKS", help="pytest's -m; default: those of `make test`"
    )
    parser.add_argument("--work", type=Path, help="folder for copies, probes and results; default: build/mutation")
    parser.add_argument("--jobs", type=int, default=0, help="pytest's -n")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one mutation, then it is not decided")
    parser.add_argument("--probe", nargs="*", metavar="PATH", help="only run tests with probes, those of these files")
    options = parser.parse_args()

    if options.load:
        mutations = [Mutation(**line) for line in json.loads(options.load.read_text("utf-8"))]
    else:
        seed = random.randrange(1_000_000) if options.seed is None else options.seed
        print(f"seed {seed}")
        mutations = choose(options.root, seed, options.count, options.only)
    if options.save:
        options.save.write_text(json.dumps([asdict(mutation) for mutation in mutations], indent=1), "utf-8")
    if options.list:
        print(*(f"{mutation.number:3} {mutation}" for mutation in mutations), sep="\n")
        return
    work: Path = (options.work or here / "build/mutation").resolve()
    work.mkdir(parents=True, exist_ok=True)
    _same(work / "mutations.json", json.dumps([asdict(mutation) for mutation in mutations]))
    clean = Tree(options.root.resolve(), work, "clean")
    tests = clean.collect(options.tests)
    reach = Reach(options.root.resolve(), work, mutations, tests)
    print(f"{len(tests)} tests; {len(reach.missing())} to be run with probes", flush=True)
    if options.probe is not None:
        reach.complete(options.jobs, options.tests, options.probe)
        return
    if not options.numbers:
        reach.complete(options.jobs, options.tests)
    numbers = {int(number) for number in options.numbers.split(",") if number}
    chosen = [mutation for mutation in mutations if not numbers or mutation.number in numbers]
    Trial(options.root.resolve(), work, clean, reach, options).run_all(chosen)


def _same(file: Path, text: str) -> None:
    """Keep what the folder belongs to. Exits if it belongs to other mutations."""
    if file.exists() and file.read_text("utf-8") != text:
        raise SystemExit(f"{file.parent} is of other mutations; delete it or name another --work")
    file.write_text(text, "utf-8")


class Trial:
    """Runs tests against mutations, and keeps the results in ``results.jsonl``."""

    def __init__(self, root: Path, work: Path, clean: Tree, reach: Reach, options: argparse.Namespace) -> None:
        self._clean, self._reach, self._options = clean, reach, options
        self._changed = Tree(root, work, "changed")
        self._results = work / "results.jsonl"
        self._sound: dict[str, bool] = {}  # tests that failed with a mutation: if they pass without one

    def run_all(self, mutations: Sequence[Mutation]) -> None:
        """Decide mutations that no earlier run has decided, and print the results."""
        results = {line["number"]: line for line in lines(self._results)}
        for mutation in mutations:
            line = results.get(mutation.number)
            if not line or line["result"] == "not decided":
                began = time.monotonic()
                result, why = self._one(mutation)
                line = {"number": mutation.number, "result": result, "why": why, "what": str(mutation)}
                line["seconds"] = round(time.monotonic() - began)
                with self._results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            results[mutation.number] = line
            print(f"{line['result']:11} {mutation.number:3} {mutation} [{line['why']}] {line['seconds']} s", flush=True)
        print(dict(Counter(results[mutation.number]["result"] for mutation in mutations)))

    def _one(self, mutation: Mutation) -> tuple[str, str]:
        """Return the result of a mutation, and why.

        That is the test that failed, or how many passed.
        """
        try:
            source = mutation.applied(self._changed.read(mutation.file))
        except (ValueError, OSError) as error:
            return "not there", str(error)
        self._changed.write(mutation.file, source)
        try:
            return self._tried(mutation)
        finally:
            self._changed.restore(mutation.file)

    def _tried(self, mutation: Mutation) -> tuple[str, str]:
        tests = self._reach.of(mutation)
        deadline = time.monotonic() + self._options.limit
        passed = 0
        while tests:
            marks = ("-m", self._options.tests, f"-n{self._options.jobs}", "-x", "-o", f"timeout={TEST_S}")
            run = self._changed.run(tests, *marks, limit=max(1, deadline - time.monotonic()))
            failed = [test for test, (outcome, _) in run.ended.items() if outcome == "failed"]
            for test in failed:
                if self._passes_without(test):
                    return "killed", test
            passed += len(run.ended) - len(failed)
            if run.code is None:
                return "not decided", f"{passed} of {len(tests)} tests in {self._options.limit:.0f} s passed"
            if not failed and run.code != 0:
                if self._clean.run(tests, "--collect-only", "-n0").code == 0:
                    return "killed", "the tests cannot be collected"
                return "not decided", f"pytest: {run.output[-200:]}"
            tests = [test for test in tests if test not in run.ended] if failed else []
        if missing := len(self._reach.missing()):
            return "not decided", f"{passed} tests passed; {missing} have not been run with probes"
        return "survived", f"all {passed} tests that reach it passed"

    def _passes_without(self, test: str) -> bool:
        if test not in self._sound:
            run = self._clean.run([test], "-n0")
            self._sound[test] = run.ended.get(test, ("", 0))[0] == "passed"
        return self._sound[test]


if __name__ == "__main__":
    main()
