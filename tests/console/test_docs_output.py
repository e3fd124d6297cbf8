"""Output, scripts and units in the docs: they are as printed, and they work."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml

from tests.command import ROOT, environment, unstick
from tests.servers import Servers

SECONDS = 180.0  # until a missing incident is a failure
ALERTS = (ROOT / "docs/alerts.md").read_text()
SHOWN = [
    (shlex.split(command)[1:], output)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for command, output in re.findall(r"(?ms)^```console\n\$ ([^\n]+)\n(.*?)^```", page.read_text())
]


@pytest.mark.parametrize(("words", "output"), SHOWN, ids=lambda each: each[0] if isinstance(each, list) else "")
def test_a_command_prints_what_the_page_shows(words: list[str], output: str, every_engine: str) -> None:
    """A line ``...`` is any number of lines."""
    answer = unstick(*words, dsn=every_engine)
    assert answer.code == 0
    parts = [re.escape(part) for part in output.strip().split("...\n")]
    pattern = r"(.*\n)*?".join(parts).removesuffix(re.escape("..."))
    assert re.match(pattern, answer.out), answer.out


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", ALERTS)


def test_the_pages_show_both_grants_and_init() -> None:
    assert {words[0] for words, _ in SHOWN} >= {"grants", "init"}


def test_the_list_of_privileges_is_what_grants_prints() -> None:
    """Sentences name single privileges of the tested example."""
    (grants,) = [output for words, output in SHOWN if words[0] == "grants"]
    sentences = re.sub(r"(?ms)^```.*?^```", "", (ROOT / "docs/safety.md").read_text())
    named = re.findall(r"\b(SELECT|INSERT|UPDATE|DELETE) on `(\w+)`", sentences)
    assert named
    assert [each for each in named if not re.search(rf"GRANT .*{each[0]}.* ON .*\.{each[1]}\b", grants)] == []
    assert re.findall(r"(?:SELECT|INSERT|UPDATE|DELETE)(?:,| and) (?:SELECT|INSERT|UPDATE|DELETE) on", sentences) == []


# PagerDuty and Slack


@pytest.fixture(scope="module")
def incident(servers: Servers) -> dict[str, Any]:
    """Return the document that a command of ``watch`` gets for an overdue timer."""
    found, deadline = None, monotonic() + SECONDS
    while found is None:  # a busy machine leaves findings unread; old rows look as if their runner were silent
        assert monotonic() < deadline
        dsn = servers["18"].fresh("eternaltwin", filled=True)
        answer = unstick("stuck", "--json", "--engine", "eternaltwin", dsn=dsn).json
        servers["18"].drop(dsn)
        found = next((each for each in answer["incidents"] if each["title"] == "overdue timer"), None)
    typed = {"where": {"typed": "@prod  db.example"}, "context": "prod"}
    place = {"at": answer["at"], "database": "demo", "host": "127.0.0.1", "port": 5432}
    return {"format": 1, **typed, **place, "incident": found}


def sent(script: str, folder: Path, document: dict[str, Any], *arguments: str) -> Any:
    """Run a script of the page with a curl that keeps what it gets."""
    curl = folder / "curl"
    curl.write_text(f"#!/bin/sh\ncat > {folder}/sent\n")
    curl.chmod(0o755)
    variables = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "ROUTING_KEY": "R0123456789",
        "SLACK_WEBHOOK_URL": "http://x",
    }
    subprocess.run(
        ["sh", "-c", script, "sh", *arguments],
        input=json.dumps(document),
        text=True,
        check=True,
        env=environment(folder, variables),
        timeout=60,
    )
    return json.loads((folder / "sent").read_text())


def script(name: str) -> str:
    (found,) = [block for block in blocks("sh") if f"# ~/bin/{name}" in block]
    return found


@pytest.mark.skipif(not shutil.which("jq"), reason="the scripts need jq")
def test_an_alert_is_triggered_and_resolved(incident: dict[str, Any], tmp_path: Path) -> None:
    (shown,) = map(json.loads, blocks("json"))
    triggered = sent(script("to-pagerduty"), tmp_path, incident, "trigger")
    resolved = sent(script("to-pagerduty"), tmp_path, incident, "resolve")
    assert resolved == {**triggered, "event_action": "resolve"}
    for each in (triggered, shown):  # timers become due, and the second sentence is about the runner now
        details = each["payload"]["custom_details"]
        assert details.pop("nodes") >= 2
        details["sentence"] = re.sub(r"\d", "0", details["sentence"].partition(". ")[0])
    assert triggered == shown


@pytest.mark.skipif(not shutil.which("jq"), reason="the scripts need jq")
def test_slack_gets_a_text_that_mentions_no_channel(incident: dict[str, Any], tmp_path: Path) -> None:
    evil = {**incident, "incident": {**incident["incident"], "sentence": "<!channel> & so"}}
    assert "&lt;!channel&gt; &amp; so" in sent(script("to-slack"), tmp_path, evil)["text"]


# systemd, cron, Prometheus


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is missing")
def test_the_unit_is_valid(tmp_path: Path) -> None:
    (unit,) = blocks("ini")
    program = tmp_path / "unstick"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / "unstick-watch.service"
    path.write_text(unit.replace("/usr/local/bin/unstick", str(program)))
    ran = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, path.name in ran.stderr) == (0, False), ran.stderr


def test_commands_of_units_and_cron_are_commands() -> None:
    lines = [line for language in ("ini", "cron", "sh") for line in "\n".join(blocks(language)).splitlines()]
    typed = [found for line in lines for found in re.findall(r"(?:^|[ /])unstick (@prod .*?)(?= [>|&;]|$)", line)]
    assert len(typed) == 3
    for words in map(shlex.split, typed):
        assert unstick(*words, "--help").code == 0
    assert all(re.match(r"([\d*]+ ){5} ops ", line) for block in blocks("cron") for line in block.splitlines())


def test_the_rules_name_metrics(every_engine: str) -> None:
    rules, alertmanager = map(yaml.safe_load, blocks("yaml"))
    printed = set(re.findall(r"(?m)^(unstick_\w+)\{", unstick("metrics", dsn=every_engine).out))
    expressions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    assert set(re.findall(r"unstick_\w+", " ".join(expressions))) <= printed
    receivers = {each["name"]: each for each in alertmanager["receivers"]}
    assert receivers["pagerduty"]["pagerduty_configs"][0]["send_resolved"] is True
    routes = [alertmanager["route"], *alertmanager["route"]["routes"]]
    assert {route["receiver"] for route in routes} == set(receivers)
