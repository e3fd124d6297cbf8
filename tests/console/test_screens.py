"""The pages: what they show, how one moves between them, and what they do with hostile data."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from console.config import Context
from console.tui import theme
from tests.console.stage import staged
from tests.queries.builders import Twin
from tests.queries.test_together import NAMES, fill
from tests.servers import TestbedServer

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 [bold]markup[/] [@click=app.quit]x[/] \u202eright to left\u202c 漢字".encode()
    + b"\xff\xfe"
)


async def test_the_first_picture(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    job = await twin.job()
    await twin.task(job, kind="SendEmail", status="Blocked", timer=-600)
    await twin.task(job, kind="Sleep", status="Complete")
    async with staged(eternaltwin, tmp_path) as stage:
        text = await stage.until("SendEmail v1 · 1/2", "1 scheduled", "1 done", "1 stuck", "● live")
        assert "▸ eternaltwin" in text
        assert "C Cancel job" in text


async def test_unfold_open_and_back(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    job = await twin.job()
    await twin.task(job, status="Blocked", timer=-600, state=b'{"step": 7}')
    async with staged(eternaltwin, tmp_path, size=(120, 60)) as stage:
        await stage.until("0/1")
        await stage.press("right")
        await stage.until("└", "Blocked")
        await stage.press("down", "enter")
        text = await stage.until(
            "Why it is stuck", "timer overdue", "what helps: W Wake", '"step": 7', "nothing was done to it"
        )
        assert "not recorded  owner, heartbeat, attempts, error" in text
        await stage.press("escape")
        await stage.until("└", lambda: "Why it is stuck" not in stage.text)
        await stage.press("left")
        await stage.press("left")
        await stage.until(lambda: "└" not in stage.text)


async def test_new_jobs_appear_and_the_cursor_stays(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(kind="First")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("First v1")
        await twin.task(kind="Second")
        text = await stage.until("Second v1")
        cursor = next(line for line in text.splitlines() if line.startswith("▌"))
        assert "First" in cursor


async def test_a_node_that_vanishes_is_told(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    job = await twin.job()
    await twin.task(job, kind="Doomed")
    await twin.task(kind="Stays")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("Doomed", "Stays")
        table = stage.app.screen.query_one("TreeTable")
        assert table.go_to(twin.id(job, "job"))  # type: ignore[attr-defined]
        await twin.sql("DELETE FROM job WHERE job_id = $1", job)
        text = await stage.until("job Doomed v1 · 0/1 does not exist any more.")
        assert any(line.startswith("▌") and "Stays" in line for line in text.splitlines())


async def test_the_detail_of_a_node_that_vanishes(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=-600)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.press("2")
        await stage.until("timer overdue", "W wake")
        await stage.until("◷ scheduled")
        await stage.press("enter")
        await stage.until("Why it is stuck")
        await twin.sql("DELETE FROM task")
        await stage.until("It does not exist any more; this is how it was last seen.", "Why it is stuck")


async def test_stuck_worst_first_with_what_helps(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(kind="Overdue", status="Blocked", timer=-600)
    await twin.jobs(1, age=7200)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.press("s")
        text = await stage.until("timer overdue", "job without tasks"[:14], "Overdue v1")
        lines = [line for line in text.splitlines() if "timer overdue" in line or "job without" in line]
        assert ["timer" in line for line in lines] == [True, False]
        assert "Its timer was due at" in text
        await stage.press("o")
        await stage.until("all jobs", "└", lambda: stage.app.screen.MODE == "tree")  # type: ignore[attr-defined]
        assert any(line.startswith("▌") and "Overdue" in line for line in stage.text.splitlines())


async def test_nothing_stuck_is_said(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(polled=0.5)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("nothing stuck")
        await stage.press("2")
        await stage.until("Nothing is stuck, as far as the database can tell.")


async def test_the_filter(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(kind="SendEmail")
    await twin.task(kind="Archive", status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("SendEmail", "Archive")
        await stage.press("slash")
        await stage.type("phase:sch")
        await stage.until("filter: phase:sch", "1 of 2", lambda: "SendEmail" not in stage.text)
        await stage.until("What was not unfolded is not searched: l lists everything unfinished")
        await stage.type("x")
        await stage.until("no phase 'schx'", "filter: phase:sch")
        await stage.press("backspace", "enter")
        await stage.until(lambda: getattr(stage.app.focused, "id", "") == "tree")
        await stage.press("escape")
        await stage.until("SendEmail", "Archive", lambda: "filter:" not in stage.text)
        await stage.press("slash")
        await stage.type("nosuch")
        await stage.until("The filter hides everything that was read.", "What was not unfolded is not searched")
        await stage.press("escape")
        await stage.until("SendEmail")


async def test_the_live_list_and_finding_by_text(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    task = await twin.task(kind="Waits", status="Blocked", timer=60)
    await twin.task(kind="Finished", status="Complete")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("Waits", "Finished")
        await stage.press("l")
        await stage.until("unfinished, most urgent first", "Waits", lambda: "Finished" not in stage.text)
        await stage.press("escape")
        await stage.until("Finished")
        await stage.press("f")
        await stage.until("Find in eternaltwin")
        await stage.type(str(task)[:12])
        await stage.press("enter")
        await stage.until(f"found: {str(task)[:12]}", "Waits")
        await stage.press("f")
        await stage.until("Find in eternaltwin")
        await stage.type("nosuch")
        await stage.press("enter")
        await stage.until("Nothing was found for 'nosuch'.")


async def test_marks(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    for _ in range(3):
        await twin.task()
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("SendEmail")
        await stage.press("space")
        await stage.until("1 marked")
        await stage.press("escape")
        await stage.until(lambda: "marked" not in stage.text)
        await stage.press("asterisk")
        await stage.until("3 marked")


async def test_more_pages_come_as_the_cursor_nears_their_end(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    jobs = await twin.jobs(250)
    await twin.tasks(jobs)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("100+")
        await stage.press("end", "end")
        await stage.until(lambda: stage.text.splitlines()[2].endswith(" 250 "))


async def test_pause_and_interval(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(kind="First")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("First")
        await stage.press("p")
        await stage.until("Paused: the picture stays as it is", "paused")
        await twin.task(kind="Second")
        await stage.press("r")
        await stage.until("Second")
        await stage.press("p", "plus")
        await stage.until("Looking every 0.5 s", "● live")
        await stage.press("minus")
        await stage.until("Looking every 0.2 s")


async def test_help_tells_every_action_and_why_some_cannot_be(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    async with staged(eternaltwin, tmp_path, size=(120, 300)) as stage:
        await stage.until("There are no jobs.")
        await stage.press("question_mark")
        text = await stage.until("what can be done", "what counts as stuck")
        for action in (
            "W Wake",
            "C Cancel",
            "R Restart from initial state",
            "D Delete job",
            "L Release",
            "M Send message",
        ):
            assert action in text
        assert "unsupported: this engine records no lease" in text
        assert "assumed of the engine" in text
        assert "Blocked (scheduled)" in text


async def test_the_palette_knows_actions_and_keys(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("0/1")
        await stage.press("ctrl+p")
        await stage.until("Search")
        await stage.type("delete")
        await stage.until("Delete job (D)")
        await stage.press("escape")
        await stage.press("ctrl+p")
        await stage.type("live")
        await stage.until("live list (l)")
        await stage.press("down", "enter")
        await stage.until("unfinished, most urgent first")


async def test_copying(twin: Twin, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    job = await twin.job()
    await twin.task(job)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("0/1")
        await stage.press("y")
        await stage.until("row as JSON", "SQL of Cancel job")
        await stage.press("enter")
        await stage.until("Copied: id.")
        assert stage.app.clipboard == twin.id(job, "job")
        monkeypatch.setenv("TERM", "linux")
        await stage.press("y")
        await stage.until("row as JSON")
        await stage.press("enter")
        await stage.until("Written to", "copied.txt")
    path = tmp_path / "unstick" / "copied.txt"
    assert path.read_text() == twin.id(job, "job")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_hostile_data_is_text(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=-600, state=HOSTILE, output=HOSTILE[:40])
    async with staged(eternaltwin, tmp_path, size=(100, 70)) as stage:
        await stage.press("2")
        await stage.until("W wake", "◷ scheduled")
        await stage.press("enter")
        await stage.until("State", "Output")
        for line in stage.text.splitlines():
            assert line.isprintable(), repr(line)
        await stage.action("W", "[red]not[/] markup [/]")
        await stage.until("[red]not[/] markup [/]")
        await stage.press("W")
        await stage.until("1 changed", "[red]not[/] markup [/]")
        await stage.press("enter")
        await stage.until("by postgres", "[red]not[/] markup [/]")


async def test_a_role_named_like_markup(twin: Twin, server: TestbedServer, eternaltwin: str, tmp_path: Path) -> None:
    """Its name stands in the header, in errors and in the palette, which reads markup."""
    await twin.task(status="Blocked", timer=60)
    role = server.unique("[/red] \x1b[31m")
    server.sql(f"""CREATE ROLE "{role}" LOGIN PASSWORD 'v'""")
    server.sql(f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{role}"', eternaltwin)
    try:
        dsn = server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="v")
        async with staged(dsn, tmp_path, size=(160, 40)) as stage:
            await stage.until("0/1", "[/red] ␛[31m")
            await stage.press("C")
            await stage.until("lacks UPDATE task")
            await stage.press("escape", "ctrl+p")
            await stage.type("cancel")
            await stage.until("Cancel job (C)", "[/red] ␛[31m")
            assert "\x1b" not in stage.text
    finally:
        server.sql(f'DROP OWNED BY "{role}"', eternaltwin)
        server.sql(f'DROP ROLE "{role}"')


@pytest.mark.parametrize("size", [(40, 10), (60, 20), (20, 6), (250, 80)])
async def test_every_page_at_every_size(twin: Twin, eternaltwin: str, tmp_path: Path, size: tuple[int, int]) -> None:
    await twin.task(status="Blocked", timer=-600)
    async with staged(eternaltwin, tmp_path, size=size, context=Context(name="prod", production=True)) as stage:
        await stage.until(lambda: stage.app.session.findings_loaded)
        for mode in ("1", "2", "3", "4", "question_mark"):
            await stage.press(mode)
            await stage.until(lambda: stage.app.session.age is not None)
        await stage.press("2")
        await stage.until(lambda: stage.app.frame is not None and stage.app.frame.targets())
        await stage.press("enter")
        await stage.until("SendEmail")
        await stage.press("y", "escape", "W")
        await stage.until(lambda: stage.app.screen.query("#reason"))
        await stage.type("x")
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen.query("#go") and not stage.app.screen.query_one("#go").disabled)
        await stage.press("W")
        await stage.until(lambda: stage.app.screen.query("#close") and stage.app.screen.query_one("#close").has_focus)
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is stage.app.frame)


async def test_ascii_draws_nothing_else(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=-600)
    async with staged(eternaltwin, tmp_path, ascii=True) as stage:
        await stage.until("0/1", "1 stuck", "@ 1 scheduled")
        assert stage.text.isascii(), [line for line in stage.text.splitlines() if not line.isascii()]


async def test_production_looks_different(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    seen = {}
    for production in (False, True):
        async with staged(eternaltwin, tmp_path, context=Context(name="here", production=production)) as stage:
            await stage.until("There are no jobs.", "PRODUCTION" if production else "here")
            seen[production] = stage.app.screen.query_one("#header").background_colors[1].hex
    assert seen[True] == theme.CONTEXT_COLORS["red"].upper()
    assert seen[False] != seen[True]


async def test_no_known_engine(database: str, tmp_path: Path) -> None:
    async with staged(database, tmp_path) as stage:
        await stage.until("No task engine that this console knows lives in this database.", "Looked for eternaltwin")


async def test_two_engines(server: TestbedServer, twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(kind="InPublic")
    server.sql("CREATE SCHEMA other", eternaltwin)
    schema = Path("queries/engines/eternaltwin/schema.sql").read_text()
    server.sql(f"SET search_path = other; {schema}", eternaltwin)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("eternaltwin@public", "eternaltwin@other")
        first = stage.app.frame.label() if stage.app.frame else None
        await stage.press("tab")
        await stage.until(lambda: stage.app.frame is not None and stage.app.frame.label() != first)
        await stage.press("tab")
        await stage.until(lambda: stage.app.frame is not None and stage.app.frame.label() == first)
    async with staged(eternaltwin, tmp_path, size=(60, 10)) as stage:  # where there is room for one line of them
        await stage.until("1/2 eternaltwin@pub", lambda: "@other" not in stage.text)
        await stage.press("tab")
        await stage.until("2/2 eternaltwin@other", lambda: "eternaltwin@pub" not in stage.text)


async def test_the_tree_switches_between_all_engines(server: TestbedServer, tmp_path: Path) -> None:
    dsn = server.fresh()
    await fill(dsn)
    async with staged(dsn, tmp_path) as stage:
        shown = []
        for name in NAMES:
            await stage.until(f"▸ {name}")
            shown.append(stage.app.frame.label() if stage.app.frame else None)
            await stage.press("tab")
        assert shown == NAMES
        await stage.until(f"▸ {NAMES[0]}")
        await stage.press("2")
        await stage.until(lambda: {f.engine for f in stage.app.session.findings()} == set(NAMES))
        severities = [f.severity for f in stage.app.session.findings()]
        assert severities == sorted(severities, reverse=True)
    server.drop(dsn)


async def test_a_column_that_an_engine_never_fills_is_not_there(
    server: TestbedServer, twin: Twin, eternaltwin: str, tmp_path: Path
) -> None:
    await twin.task()
    server.sql("CREATE SCHEMA other", eternaltwin)
    schema = Path("queries/engines/estuary/schema.sql").read_text()
    server.sql(f"SET search_path = other; {schema}", eternaltwin)
    server.sql("SET search_path = other; SELECT create_task('00:00:00:00:00:00:00:01', 1::smallint, NULL)", eternaltwin)

    def titles() -> list[str]:
        return next(line for line in stage.text.splitlines() if line.startswith("  task ")).split()

    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("› estuary › all jobs", "▌")
        assert titles() == ["task", "status", "age", "due", "findings"]
        await stage.press("tab")
        await stage.until("› eternaltwin › all jobs", "SendEmail")
        assert titles() == ["task", "status", "rev", "cpu", "poll", "cpu", "%", "age", "idle", "due", "findings"]
        await stage.press("tab")
        await stage.until("› estuary › all jobs", lambda: len(titles()) == 5)
    async with staged(eternaltwin, tmp_path, context=Context(name="here", engine="eternaltwin")) as stage:
        await stage.until("▸ eternaltwin", "› eternaltwin › all jobs")  # where the settings say which comes first


async def test_remapped_keys(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=60)
    async with staged(
        eternaltwin, tmp_path, keys={"tree.live": "f6", "action.cancel": "X", "table.mark": "m"}
    ) as stage:
        await stage.until("0/1", "X Cancel job", "f6 live list")
        await stage.press("m")
        await stage.until("1 marked")
        await stage.press("escape", "f6")
        await stage.until("unfinished, most urgent first")
        await stage.press("X")
        await stage.until("Reason, for the audit log")


async def test_large_values_come_by_and_by(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=-600, state=b"x" * 300_000)
    async with staged(eternaltwin, tmp_path, size=(120, 60)) as stage:
        await stage.press("2")
        await stage.until("◷ scheduled")
        await stage.press("enter")
        await stage.until("text, 293 kB (the first 64 kB)", "m more bytes")
        await stage.press("m")
        await stage.until("text, 293 kB", lambda: "the first" not in stage.text and "m more bytes" not in stage.text)
        await stage.press("m")
        await stage.until("All stored bytes are here already.")


@pytest.mark.parametrize("profile", ["mirror", "table"])
async def test_the_variant_of_an_engine_is_always_shown(server: TestbedServer, tmp_path: Path, profile: str) -> None:
    dsn = server.fresh("agent_jobs", filled=True)
    if profile == "table":
        server.sql("UPDATE jobs SET status = 'active' WHERE status = 'pending'", dsn)
    async with staged(dsn, tmp_path, size=(120, 400)) as stage:
        await stage.until(f"agent_jobs ({profile})")
        for mode in ("2", "4"):
            await stage.press(mode)
            await stage.until(f"agent_jobs ({profile})")
        await stage.press("question_mark")
        text = await stage.until(f"profile: {profile} (", "what can be done")
        assert ("Bull, in Redis, decides what runs" in text) == (profile == "mirror"), (
            "actions of the other are not told"
        )
    server.drop(dsn)
