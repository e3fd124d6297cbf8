"""Pages: what they show, how the operator moves, and how hostile data appears."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from console.config import Context
from console.tui import theme
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.test_together import NAMES
from tests.servers import PostgresServer

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 [bold]markup[/] [@click=app.quit]x[/] \u202eright to left\u202c 漢字".encode()
    + b"\xff\xfe"
)


async def test_unfold_open_and_back(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Blocked", timer=-600, state=b'{"step": 7}')
    async with run_tui(eternaltwin, tmp_path, size=(120, 60)) as tui:
        await tui.wait_for("0/1")
        await tui.press("right")
        await tui.wait_for("└", "Blocked")
        await tui.press("down", "enter")
        text = await tui.wait_for(
            "Why it is stuck", "overdue timer", "suggested action: W Wake", '"step": 7', "no changes made with unstick"
        )
        assert "not recorded  owner, heartbeat, attempts, error" in text
        await tui.press("escape")
        await tui.wait_for("└", lambda: "Why it is stuck" not in tui.text)
        await tui.press("left")
        await tui.press("left")
        await tui.wait_for(lambda: "└" not in tui.text)


async def test_new_jobs_appear_and_the_cursor_stays(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="First")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("▌ ▸ First v1")
        await eternaltwin_db.task(kind="Second")
        await tui.wait_for("▌ ▸ Second v1")
        await tui.press("down")
        await eternaltwin_db.task(kind="Third")
        await tui.wait_for("Third v1", "▌ ▸ First v1")


async def test_a_node_that_vanishes_is_reported(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, kind="Doomed")
    await eternaltwin_db.task(kind="Stays")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("Doomed", "Stays")
        table = tui.app.screen.query_one("ListTable")
        assert table.go_to(eternaltwin_db.id(job, "job"))  # type: ignore[attr-defined]
        await eternaltwin_db.sql("DELETE FROM job WHERE job_id = $1", job)
        text = await tui.wait_for("job Doomed v1 - 0/1 no longer exists.")
        assert any(line.startswith("▌") and "Stays" in line for line in text.splitlines())


async def test_the_detail_of_a_node_that_vanishes(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600)
    async with run_tui(eternaltwin, tmp_path, size=(140, 36)) as tui:
        await tui.press("2")
        await tui.wait_for("overdue timer", "W wake", "◷ scheduled")
        await tui.press("enter")
        await tui.wait_for("Why it is stuck")
        await eternaltwin_db.sql("DELETE FROM task")
        await tui.wait_for("It no longer exists", "Why it is stuck")


async def test_stuck_worst_first_with_what_helps(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="Overdue", status="Blocked", timer=-600)
    await eternaltwin_db.jobs(1, age=7200)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("2")
        text = await tui.wait_for("overdue timer", "empty job", "Overdue v1", "2 incidents")
        lines = [line for line in text.splitlines() if re.match("[▌ ]   (‼ overdue timer|· empty job)", line)]
        assert ["timer" in line for line in lines] == [True, False]
        assert "timer was due at" in text
        await tui.press("o")
        await tui.wait_for("all jobs", "└", lambda: tui.app.screen.MODE == "tree")  # type: ignore[attr-defined]
        assert any(line.startswith("▌") and "Overdue" in line for line in tui.text.splitlines())


async def test_nothing_stuck_is_said(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(polled=0.5)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("nothing stuck")
        await tui.press("2")
        await tui.wait_for("Nothing is stuck, as far as the database shows.")


async def test_the_filter(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(kind="SendEmail")
    await eternaltwin_db.task(kind="Archive", status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("SendEmail", "Archive")
        await tui.press("slash")
        await tui.type("phase:sch")
        await tui.wait_for("filter: phase:sch", "1 of 2", lambda: "SendEmail" not in tui.text)
        await tui.wait_for("Only loaded rows are filtered")
        await tui.type("x")
        await tui.wait_for("no phase 'schx'", "filter: phase:sch")
        await tui.press("backspace", "enter")
        await tui.wait_for(lambda: getattr(tui.app.focused, "id", "") == "list")
        await tui.press("escape")
        await tui.wait_for("SendEmail", "Archive", lambda: "filter:" not in tui.text)
        await tui.press("slash")
        await tui.type("nosuch")
        await tui.wait_for(
            "The filter hides", "enter searches the database for nosuch", "Only loaded rows are filtered"
        )
        await tui.press("enter", "enter")
        await tui.wait_for("find: nosuch", "Nothing was found.")
        await tui.press("escape")
        await tui.wait_for("The filter hides")
        await tui.press("escape")
        await tui.wait_for("SendEmail")


async def test_an_empty_list_of_another_page_offers_the_search(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="SendEmail", status="Blocked", timer=-6000)
    await eternaltwin_db.task(kind="Archive", polled=0.5)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        await tui.wait_for("1 incident", "SendEmail")
        await tui.press("slash")
        await tui.type("severity:>8 archive")
        await tui.wait_for("No incident matches the filter.", "enter searches the database for archive")
        await tui.press("enter", "enter")
        await tui.wait_for("find: archive", "Archive v1")
        await tui.press("escape")
        await tui.wait_for("No incident matches the filter.")


async def test_the_help_is_searched(eternaltwin_demo: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin_demo, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press("question_mark")
        await tui.wait_for("Words of the screen", "Lower-case keys only read")
        await tui.press("slash")
        await tui.type("unfold all")
        await tui.wait_for(lambda: "Lower-case" not in tui.text)
        await tui.press("x")
        await tui.wait_for("'unfold allx' is not on this screen.")
        await tui.press("backspace", "enter", "escape")
        await tui.wait_for("Lower-case keys only read")


async def test_pause_and_interval(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(kind="First")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("First")
        await tui.press("p")
        await tui.wait_for("Refresh paused", "paused")
        await eternaltwin_db.task(kind="Second")
        await tui.press("r")
        await tui.wait_for("Second")
        await tui.press("p", "plus")
        await tui.wait_for("Refresh interval 500ms", "● live")
        await tui.press("minus")
        await tui.wait_for("Refresh interval 200ms")


async def test_help_lists_every_action_and_why_some_are_unavailable(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path, size=(120, 400)) as tui:
        await tui.wait_for("There are no jobs.")
        await tui.press("question_mark")
        text = await tui.wait_for(": actions", ": what can be stuck")
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
        assert "behaviour inferred" in text
        assert "Blocked (scheduled)" in text


async def test_the_palette_knows_actions_and_keys(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.press("ctrl+p")
        await tui.wait_for("Search", "Cancel job (C)", "open (enter)")
        assert tui.text.index("Cancel job (C)") < tui.text.index("open (enter)")  # what the row offers is first
        await tui.type("delete")
        await tui.wait_for("Delete job (D)")
        await tui.press("escape")
        await tui.press("ctrl+p")
        await tui.type("live")
        await tui.wait_for("live list (l)")
        await tui.press("enter")
        await tui.wait_for("unfinished, most urgent first")


async def test_copying(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.press("y")
        await tui.wait_for("row as JSON", "SQL of Cancel job")
        await tui.press("enter")
        await tui.wait_for("Sent to the terminal: id.")
        assert tui.app.clipboard == eternaltwin_db.id(job, "job")
        monkeypatch.setenv("TERM", "linux")
        await tui.press("y")
        await tui.wait_for("row as JSON")
        await tui.press("enter")
        await tui.wait_for("Written to", "copied-")
    (path,) = (tmp_path / "unstick").glob("copied-*.txt")
    assert eternaltwin.rpartition("/")[2] in path.name
    assert path.read_text() == eternaltwin_db.id(job, "job")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_hostile_data_is_text(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600, state=HOSTILE, output=HOSTILE[:40])
    async with run_tui(eternaltwin, tmp_path, size=(150, 70)) as tui:
        await tui.press("2")
        await tui.wait_for("W wake", "SendEmail v1")
        await tui.press("enter")
        await tui.wait_for("State", "Output")
        for line in tui.text.splitlines():
            assert line.isprintable(), repr(line)
        await tui.action("W", "[red]not[/] markup [/]")
        await tui.wait_for("[red]not[/] markup [/]")
        await tui.press("W")
        await tui.wait_for("1 changed", "[red]not[/] markup [/]")
        await tui.press("enter")
        await tui.wait_for("by postgres", "[red]not[/] markup [/]")


async def test_a_role_named_like_markup(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    """Its name is in the header, in errors and in the palette, which reads markup."""
    await eternaltwin_db.task(status="Blocked", timer=60)
    role = server.unique("[/red] \x1b[31m")
    server.sql(f"""CREATE ROLE "{role}" LOGIN PASSWORD 'v'""")
    server.sql(f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{role}"', eternaltwin)
    try:
        dsn = server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="v")
        async with run_tui(dsn, tmp_path, size=(160, 40)) as tui:
            await tui.wait_for("0/1", "[/red] ␛[31m")
            await tui.press("C")
            await tui.wait_for("lacks UPDATE task")
            await tui.press("escape", "ctrl+p")
            await tui.type("cancel")
            await tui.wait_for("Cancel job (C)", "[/red] ␛[31m")
            assert "\x1b" not in tui.text
    finally:
        server.sql(f'DROP OWNED BY "{role}"', eternaltwin)
        server.sql(f'DROP ROLE "{role}"')


@pytest.mark.parametrize("size", most_in_proof([(40, 10), (60, 20), (20, 6), (250, 80)], unpacked=False))
async def test_every_page_at_every_size(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, size: tuple[int, int]
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600)
    async with run_tui(eternaltwin, tmp_path, size=size, context=Context(name="prod", production=True)) as tui:
        await tui.wait_for(lambda: tui.app.session.state.findings_loaded)
        for mode in ("1", "2", "3", "4", "question_mark"):
            await tui.press(mode)
            await tui.wait_for(lambda: tui.app.session.state.age is not None)
        await tui.press("2")
        await tui.wait_for(lambda: tui.app.front is not None and tui.app.front.targets())
        await tui.press("enter")
        await tui.wait_for("SendEmail")
        await tui.press("y", "escape", "W")
        await tui.wait_for(lambda: tui.app.screen.query("#reason"))
        await tui.type("x")
        await tui.press("enter")
        await tui.wait_for(lambda: tui.app.screen.query("#go") and not tui.app.screen.query_one("#go").disabled)
        await tui.press("W")
        await tui.wait_for(lambda: tui.app.screen.query("#leave") and tui.app.screen.query_one("#leave").has_focus)
        await tui.press("enter")
        await tui.wait_for(lambda: tui.app.screen is tui.app.front)


async def test_production_looks_different(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    seen = {}
    for production in (False, True):
        async with run_tui(eternaltwin, tmp_path, context=Context(name="here", production=production)) as tui:
            await tui.wait_for("There are no jobs.", "PRODUCTION" if production else "here")
            seen[production] = tui.app.screen.query_one("#header").background_colors[1].hex
    assert seen[True] == theme.CONTEXT_COLORS["red"].upper()
    assert seen[False] != seen[True]


async def test_two_engines(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="InPublic")
    server.sql("CREATE SCHEMA other", eternaltwin)
    schema = Path("queries/engines/eternaltwin/schema.sql").read_text()
    server.sql(f"SET search_path = other; {schema}", eternaltwin)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("eternaltwin@public", "eternaltwin@other")
    async with run_tui(eternaltwin, tmp_path, size=(60, 10)) as tui:  # where there is room for one line of them
        await tui.wait_for(" ▸ eternaltwin@public")
        await tui.press("greater_than_sign")
        await tui.wait_for(" ▸ eternaltwin@other")


async def test_the_tree_switches_between_all_engines(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path) as tui:
        shown = []
        for name in NAMES:
            await tui.wait_for(f"▸ {name}")
            shown.append(tui.app.front.label() if tui.app.front else None)
            await tui.press("greater_than_sign")
        assert shown == NAMES
        await tui.wait_for(f"▸ {NAMES[0]}")
        await tui.press("2")
        await tui.wait_for(lambda: {f.engine for f in tui.app.session.state.findings.ranked} == set(NAMES))
        severities = [f.severity for f in tui.app.session.state.findings.ranked]
        assert severities == sorted(severities, reverse=True)


async def test_a_column_that_an_engine_never_fills_is_not_there(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task()
    server.sql("CREATE SCHEMA other", eternaltwin)
    schema = Path("queries/engines/estuary/schema.sql").read_text()
    server.sql(f"SET search_path = other; {schema}", eternaltwin)
    server.sql("SET search_path = other; SELECT create_task('00:00:00:00:00:00:00:01', 1::smallint, NULL)", eternaltwin)

    def titles() -> list[str]:
        return next(line for line in tui.text.splitlines() if line.startswith("  task ")).split()

    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("› estuary › all jobs", "▌")
        assert titles() == ["task", "status", "age"]
        await tui.press("greater_than_sign")
        await tui.wait_for("› eternaltwin › all jobs", "SendEmail")
        assert titles() == ["task", "status", "rev", "cpu", "poll", "cpu", "%", "age", "idle"]
        await tui.press("greater_than_sign")
        await tui.wait_for("› estuary › all jobs", lambda: len(titles()) == 3)
    async with run_tui(eternaltwin, tmp_path, context=Context(name="here", engine="eternaltwin")) as tui:
        await tui.wait_for("▸ eternaltwin", "› eternaltwin › all jobs")  # where the settings say which comes first


async def test_remapped_keys(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path, keys={"tree.live": "f6", "action.cancel": "X", "rows.mark": "m"}) as tui:
        await tui.wait_for("0/1", "X Cancel job", "f6 live list")
        await tui.press("m")
        await tui.wait_for("1 marked")
        await tui.press("escape", "f6")
        await tui.wait_for("unfinished, most urgent first", "◷ Blocked")
        await tui.press("X")
        await tui.wait_for("Reason, for the audit log")


async def test_large_values_are_read_in_parts(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600, state=b"x" * 300_000)
    async with run_tui(eternaltwin, tmp_path, size=(120, 60)) as tui:
        await tui.press("2")
        await tui.wait_for("overdue timer", "SendEmail v1")
        await tui.press("enter")
        await tui.wait_for("text, 293 kB (the first 64 kB)", "m more bytes")
        await tui.press("m")
        await tui.wait_for("text, 293 kB", lambda: "the first" not in tui.text and "m more bytes" not in tui.text)
        await tui.press("m")
        await tui.wait_for("All stored bytes are loaded.")


@pytest.mark.parametrize("profile", most_in_proof(["mirror", "table"]))
async def test_the_variant_of_an_engine_is_always_shown(server: PostgresServer, tmp_path: Path, profile: str) -> None:
    dsn = server.fresh("agent_jobs", filled=True)
    if profile == "table":
        server.sql("UPDATE jobs SET status = 'active' WHERE status = 'pending'", dsn)
    async with run_tui(dsn, tmp_path, size=(120, 400)) as tui:
        await tui.wait_for(f"agent_jobs ({profile})")
        for mode in ("2", "4"):
            await tui.press(mode)
            await tui.wait_for(f"agent_jobs ({profile})")
        await tui.press("question_mark")
        text = await tui.wait_for(f"profile: {profile} (", ": actions")
        assert ("Bull, in Redis, schedules" in text) == (profile == "mirror"), "actions of the other are not listed"
    server.drop(dsn)
