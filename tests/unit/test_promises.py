"""docs/supported.toml: each promise is proven, and the other files agree with it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests import promises
from tests.command import ROOT
from tests.generated import is_as_made

pytestmark = pytest.mark.fast

SAID = promises.promises()


def changed(kind: str, at: int, **values: Any) -> dict[str, Any]:
    said = deepcopy(SAID)
    said["promises"][kind][at] |= values
    return said


def test_every_promise_is_proven_and_the_files_agree() -> None:
    assert list(promises.faults(SAID)) == []


@pytest.mark.parametrize(
    "proof", ["", "make nothing", "tests/nothing.py", "test.yml: nothing", "nothing.yml: test", "echo yes"]
)
def test_a_promise_without_a_proof_is_a_fault(proof: str) -> None:
    (fault, *_) = promises.faults(changed("way", 0, proof=proof))
    assert fault == f"way clone: nothing proves it: proof = {proof!r}"


@pytest.mark.parametrize(
    ("way", "run"), [("clone", ""), ("clone", "yes"), ("clone", promises.NOT_RUN), ("Arch", "here")]
)
def test_what_can_be_run_here_has_been_and_nothing_else(way: str, run: str) -> None:
    at = [each["name"] for each in SAID["promises"]["way"]].index(way)
    (fault,) = promises.faults(changed("way", at, run=run))
    assert fault.startswith(f"way {way}: ")


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("python", [*SAID["python"], "3.15"], "promises.python, classifiers, python in test.yml"),
        ("python", SAID["python"][1:], "promises.python, classifiers, requires-python, Makefile, mypy, ruff, test.yml"),
        ("postgresql", [*SAID["postgresql"], "20"], "promises.postgresql, test.yml, nightly.yml"),
        ("postgresql", SAID["postgresql"][1:], "promises.postgresql, OLDEST_MAJOR, test.yml, nightly.yml"),
        ("locked", "17", "extra demo, test.yml, nightly.yml"),
        ("recipes", "3.12", "packaging/Dockerfile, packaging/unstick.rb"),
    ],
)
def test_each_file_that_disagrees_is_named(key: str, value: Any, named: str) -> None:
    faults = list(promises.faults({**SAID, key: value}))
    assert [part for part, fault in zip(named.split(", "), faults, strict=True) if part not in fault] == [], faults


@pytest.mark.parametrize("text", ["git clone https://github.com/other/unstick.git", "--repo OWNER/unstick"])
def test_an_address_that_the_project_does_not_name_is_a_fault(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    monkeypatch.setattr(promises, "public", lambda: [page])
    (fault,) = promises.faults(SAID)
    assert fault.startswith("page.md names ")
    page.write_text("git clone https://github.com/named/unstick.git")
    monkeypatch.setattr(promises, "address", lambda: "https://github.com/named/unstick")
    assert list(promises.faults(SAID)) == []


@pytest.mark.parametrize(
    ("page", "part", "made"),
    [
        ("README.md", "try", promises.attempt()),
        ("README.md", "needs", promises.needs()),
        ("docs/install.md", "needs", promises.needs()),
        ("docs/install.md", "ways", promises.rows("way", way="name", command="command", note="note")),
        ("docs/supported.md", "versions", promises.versions()),
        ("docs/supported.md", "python", promises.rows("python", Python="name")),
        ("docs/supported.md", "platform", promises.rows("platform", system="name", note="note")),
        (
            "docs/supported.md",
            "postgresql",
            promises.rows("postgresql", PostgreSQL="name", supported="supported", note="note"),
        ),
        ("SECURITY.md", "verify", promises.verify()),
    ],
)
def test_the_documents_follow_from_the_promises(page: str, part: str, made: str) -> None:
    is_as_made(ROOT / page, part, made)


def test_an_address_is_taken_by_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "address", lambda: "https://github.com/named/unstick")
    assert promises.attempt().startswith("    git clone https://github.com/named/unstick && cd unstick\n    make demo")
    assert "gh attestation verify FILE --repo named/unstick" in promises.verify()
