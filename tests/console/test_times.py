"""One form of times on every page, and the age of the data."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.text import formatting
from console.text.formatting import Times
from console.tui.screens.detail import DetailScreen
from console.tui.widgets.text_bar import TextBar
from tests.command import unstick
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb

UTC = r"\d\d:\d\d:\d\dZ|\d\d-\d\d \d\d:\d\dZ"
INDIA = r"\d\d:\d\d:\d\d\+05:30|\d\d-\d\d \d\d:\d\d\+05:30"
RELATIVE = r"\b\d+[smh]\d*[ms]?\b"


@pytest.fixture
def india(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
    formatting.show_times(Times.RELATIVE)


def rows(tui: TuiDriver) -> str:
    return "\n".join(tui.text.splitlines()[3:-3])


DURATION = re.compile(
    r"≥?≤?-?(?:>999y|\d+y|\d+d(?:[01]\d|2[0-3])h|\d+d|\d+h(?:[0-5]\dm)?|\d+m(?:[0-5]\ds)?|<?\d+(?:\.\d?[1-9])?s"
    r"|(?:[1-9]\d{0,2}|\d{1,2}\.\d?[1-9])(?:ms|µs)|<1µs)"
)
INSTANT = re.compile(r"(?:\d{4,6}-\d\d-\d\dT)?\d\d:\d\d:\d\d(?:\.\d{3})?Z|\d{4}-\d\d-\d\d(?: ─)?|\d\d-\d\d \d\d:\d\dZ")
# All that could be a duration or an instant, in any form. Ids and payloads have their own.
TIMED = re.compile(
    r"(?<![\w.:#/\-\"'…])(?:[≥≤<>]*-?\d+(?:\.\d+)? ?"
    r"(?:µs|us|ms|min(?:ute)?s?|(?:second|hour|day)s?|[smhdy](?:\d+[smh])?)"
    r"|(?:\d{4,6}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+\d\d)?|\d\d-\d\d \d\d:\d\dZ?)(?![\w:\"'=…])"
)


def odd_times(text: str) -> list[str]:
    """Return the durations and instants of a text that have another form."""
    text = re.sub(r"from http\S+\s+after \d+ ms|last 10 minutes", "", text)  # a stored error, a note
    found = [match[0] for line in text.splitlines() for match in TIMED.finditer(line)]
    assert found, text
    return [each for each in found if not (DURATION.fullmatch(each) or INSTANT.fullmatch(each))]


def test_a_command_has_one_form_of_durations_and_one_of_instants(every_engine: str) -> None:
    """Also in sentences and witnesses that SQL makes, and in every dry run."""
    findings = [f for f in unstick("stuck", "--json", dsn=every_engine).findings if f["engine"] != "server"]
    shown = {f["node_id"].split(":")[0] + "/due_far_ahead" * (f["code"] == "due_far_ahead"): f for f in findings}
    texts = [unstick(*words, dsn=every_engine).out for words in (("stuck",), ("dead",), ("changed",), ("engines",))]
    texts += [unstick("show", f["node_id"], dsn=every_engine).out for f in shown.values()]
    acted = {(f["engine"], f["action"]): f for f in findings if f["action"]}
    dry_runs = [unstick("do", f["action"], f["node_id"], "-n", dsn=every_engine) for f in acted.values()]
    text = "".join([*texts, *(said for each in dry_runs for said in each[1:3])])
    assert odd_times(text) == []
    assert "294276-12-31T23:59:59Z" in text


async def test_the_pages_have_one_form_of_durations_and_one_of_instants(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, start="stuck", size=(200, 50)) as tui:
        await tui.wait_for("incidents", lambda: tui.app.session.state.findings_loaded)
        for form in (Times.RELATIVE, Times.UTC):
            await tui.wait_for(lambda form=form: tui.app.times is form)  # type: ignore[misc]
            for mode in "1235":  # 4 has no times before a change
                await tui.press(mode, "r")
                await tui.wait_for(lambda: TIMED.search(rows(tui)))
                assert odd_times(tui.text) == []
            await tui.press("2", *["pagedown", "enter"] * 2)
            await tui.wait_for(lambda: isinstance(tui.app.screen, DetailScreen))
            assert odd_times(tui.text) == []
            await tui.press("escape", "z")


async def test_z_changes_the_times_of_every_list_and_page(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, audit_log_table: None, india: None
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-7200)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.press("right")
        await tui.wait_for("└")
        await tui.press("down")
        await tui.action("W")
        await tui.press("W")
        await tui.wait_for("1 changed", "Close")
        await tui.press("escape")
        await eternaltwin_db.task(status="Blocked", timer=-7200)
        for form in (RELATIVE, UTC, INDIA):
            for mode in ("1", "2", "4"):
                await tui.press(mode, "r")
                await tui.wait_for(lambda form=form: re.search(form, rows(tui)))  # type: ignore[misc]
            await tui.press("1", "enter")
            zone = "+05:30" if form is INDIA else "Z"
            await tui.wait_for(
                "created", lambda zone=zone: re.search(rf"\d\dT\d\d:\d\d:\d\d{re.escape(zone)}", tui.text)
            )  # type: ignore[misc]
            await tui.press("escape", "z")
        await tui.wait_for(lambda: tui.app.times is Times.RELATIVE)


async def test_z_changes_a_page_that_was_just_read(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, india: None
) -> None:
    """Also before the session has said that it was read."""
    await eternaltwin_db.task(status="Blocked", timer=-7200)
    async with run_tui(eternaltwin, tmp_path, start="stuck", interval=3600) as tui:

        def row() -> str:
            return next((line for line in tui.text.splitlines() if "overdue timer" in line), "")

        await tui.wait_for(lambda: re.search(RELATIVE, row()))
        session = tui.app.session
        before, session.changed = session.timer.passes, lambda: None
        session.run_now()
        await tui.wait_for(lambda: session.timer.passes > before)
        await tui.press("z")
        await tui.wait_for(lambda: re.search(UTC, row()))


async def test_the_header_always_says_how_old_the_data_is(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task()
    clock = [1000.0]
    async with run_tui(eternaltwin, tmp_path, interval=5, now=lambda: clock[0]) as tui:
        await tui.wait_for("● live <5s old", "0/1")
        tui.app.workers.cancel_group(tui.app, "session")  # nothing is read any more
        read = clock[0] - (tui.app.session.state.age or 0)
        clock[0] = read + 8.0
        await tui.wait_for(lambda: "● live 8s old" in first(tui))
        for elapsed in (11.0, 17.0):  # more than two intervals
            clock[0] = read + elapsed
            step = elapsed // 5 * 5
            await tui.wait_for(lambda step=step: f"data {step:.0f}s old" in first(tui))  # type: ignore[misc]
            assert "live" not in first(tui)
            spans = tui.app.screen.query_one("#header", TextBar).render().spans
            assert any(span.style == "bold $warning" and span.end - span.start == 12 for span in spans)


async def test_the_header_says_how_old_late_incidents_are(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """The counts are new, the incidents are not."""
    await eternaltwin_db.task(status="Blocked", timer=-7200)
    clock = [1000.0]
    async with run_tui(eternaltwin, tmp_path, interval=2, now=lambda: clock[0], start="stuck") as tui:
        session = tui.app.session
        await tui.wait_for("● live", "overdue timer", lambda: session.state.findings_loaded)
        session.pause()
        clock[0] += 25.0  # they are read every 10 s
        polls = session.timer.passes
        session.run_now()  # reads the counts only
        await tui.wait_for(lambda: session.timer.passes > polls, lambda: "paused, 25s old" in first(tui))
        session.pause()
        clock[0] += 2.0
        await tui.wait_for(lambda: "● live <5s old" in first(tui))


def first(tui: TuiDriver) -> str:
    return tui.text.partition("\n")[0]


async def test_a_page_opened_while_paused_is_read_once(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=-7200)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1", lambda: tui.app.session.state.shown.incidents)
        await tui.press("p")
        await tui.wait_for("paused")
        await eternaltwin_db.sql("UPDATE task SET revision = 77777")
        await tui.press("2")
        await tui.wait_for("Refresh is paused", "SendEmail")
        await tui.press("enter")
        await tui.wait_for("Refresh is paused", "77777", str(task))
        await eternaltwin_db.sql("UPDATE task SET revision = 88888")
        await asyncio.sleep(1)  # the poll that read the page goes on with the counts
        passes = tui.app.session.timer.passes
        await asyncio.sleep(1)
        assert tui.app.session.timer.passes == passes, "it is read once only"
        assert "88888" not in tui.text
