"""Findings that follow from the claim of an own engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import ROOT, unstick
from tests.servers import PostgresServer

FOLDER = ROOT / "tests/engines/outbox"


@pytest.fixture
def outbox(server: PostgresServer) -> Iterator[str]:
    dsn = server.fresh()
    server.sql((FOLDER / "schema.sql").read_text() + (FOLDER / "fixture.sql").read_text(), dsn)
    yield dsn
    server.drop(dsn)


def test_the_claim_finds_what_is_late_and_what_a_dead_owner_holds(outbox: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[engines.outbox]\ntrust = true\n")
    engines = ["--config", str(settings), "--engines", str(FOLDER.parent), "--engine", "outbox"]
    answer = unstick("stuck", *engines, "--json", dsn=outbox)
    found = {(each["code"], each["node_id"], each["action"]) for each in answer.findings}
    failing = {("failing", f"outbox/mail:{number}", None) for number in (6, 7)}
    assert found == {("late", "outbox/mail:1", None), ("owner_dead", "outbox/mail:3", "release"), *failing}
    text = unstick("stuck", *engines, dsn=outbox).out
    assert "app.1 took the mail at" in text
    assert "2 mails failed, the last at" in text
    assert "no worker has taken it. Whether a worker lives is not recorded." in " ".join(text.split())
    why = unstick("why", "outbox/mail:3", "--engines", str(FOLDER.parent), "--json", dsn=outbox).json["nodes"][0]
    assert [each["holds"] for each in why["conditions"]] == [False, True, None]


def test_an_engine_without_findings_is_not_checked(outbox: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, folder := tmp_path / "engines/outbox")
    text = (FOLDER / "engine.toml").read_text()
    (folder / "engine.toml").write_text(text.replace('finders = ["late", "owner_dead", "failing"]\n', ""))
    answer = unstick("stuck", "--engines", str(folder.parent), dsn=outbox)
    assert answer.out.splitlines()[1] == "No findings in outbox, but some checks were not made."
    assert "Not checked: outbox anything: its folder has no findings" in answer.out


def test_an_engine_says_which_nodes_are_found_and_how_grave_they_are(outbox: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, folder := tmp_path / "engines/outbox")
    own = """[findings.late]
where = "t.id < 3"
grade = "CASE t.id WHEN 1 THEN 2 ELSE 4 END"
evidence.why = "CASE t.id WHEN 1 THEN 'Mails that were due later are sent' END"
[findings.owner_dead]
suggest = "t.picked_by <> 'app.1'"
[findings.failing]
where = "t.id > 6"
grade = "t.id"
"""
    (folder / "engine.toml").write_text((FOLDER / "engine.toml").read_text() + own)
    answer = unstick("stuck", "--engines", str(folder.parent), "--json", dsn=outbox)
    found = {(each["code"], each["node_id"].partition(":")[2], each["severity"]) for each in answer.findings}
    assert found == {("late", "1", 2), ("owner_dead", "3", 8), ("failing", "7", 7)}
    said = {each["code"]: each for each in answer.findings}
    assert said["late"]["evidence"]["why"] == "Mails that were due later are sent"
    assert said["owner_dead"]["action"] is None
