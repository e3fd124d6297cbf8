"""Pages as lines: every width, odd values, and no terminal control characters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.content import Content

from console.model.fields.node import facts
from console.text import spans
from console.text.spans import Spans, wrap
from console.text.views import action, audit_entry, detail, lines, row_diff
from console.tui import keymap
from console.tui.widgets.footer import REFUSED, Hint, footer_lines
from console.tui.widgets.header import Header, header_line, is_late, old
from console.tui.widgets.tabs import tabs_line
from console.tui.widgets.text_bar import spread, squeeze
from queries.change import signals
from queries.db import database
from queries.records.action import Change, Outcome, Proof, Result, RowChange
from queries.records.audit import AuditLogEntry
from queries.records.detail import Detail, Payload, Section
from queries.records.finding import Finding
from queries.records.node import Node, Phase, ScanRequired
from tests.command import hidden

NASTY = st.text(max_size=60) | st.sampled_from(["\x1b[2J", "[bold]x[/]", "\u202eabc", "漢字" * 20, "\x9b31m", ""])
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | NASTY | st.lists(NASTY, max_size=3)
ROWS = st.none() | st.dictionaries(NASTY, VALUES, max_size=5)
NOW = 1_700_000_000.0


def plain(found: list[Spans]) -> str:
    return "\n".join(map(spans.text, found))


def check_no_controls(found: list[Spans]) -> None:
    for line in found:
        assert not hidden(spans.text(line)), line


def node(**fields: object) -> Node:
    known: dict[str, object] = {"engine": "s", "id": "s/task:1", "kind": "task", "title": "T", "version": "1"}
    return Node(**(known | {"phase": Phase.BLOCKED} | fields))  # type: ignore[arg-type]


def test_a_changed_row_shows_only_what_differs() -> None:
    before, after = {"a": 1, "b": "x", "gone": 2}, {"a": 1, "b": "y", "new": None}
    text = plain(
        row_diff.differences([RowChange(id="s/task:1", table="task", key="1", before=before, after=after)], 80)
    )
    assert "x → y" in text
    assert "- 2" in text
    assert "+ –" in text
    assert " a " not in text


def test_values_too_long_for_a_line_are_below_each_other() -> None:
    row = RowChange(id="n", table="t", key="k", before={"c": "x" * 70}, after={"c": "y" * 70})
    found = row_diff.differences([row], 60)
    assert max(map(spans.width, found)) <= 60
    assert "- xxx" in plain(found)
    assert "+ yyy" in plain(found)


def test_many_rows_are_counted_instead_of_shown() -> None:
    rows = [RowChange(id=f"n{i}", table="t", key="k", before=None, after={"a": 1}) for i in range(250)]
    assert "… and 50 more rows" in plain(row_diff.differences(rows, 80))


def test_outcomes_say_what_and_why_with_the_worst_first() -> None:
    results = [Result(id="n1", outcome=Outcome.CHANGED), Result(id="n2", outcome=Outcome.REFUSED, why="it is done")]
    results.append(Result(id="n3", outcome=Outcome.UNKNOWN, why="the connection broke"))
    text = plain(row_diff.outcomes(results, 80))
    assert text.index("unknown") < text.index("it is done") < text.index("n1")


def test_nodes_with_one_reason_are_one_group_and_keep_their_details() -> None:
    results = [
        Result(id=f"n{n}", outcome=Outcome.CHANGED, why="undone, but a.b differs", detail=f"a.b is {n}") for n in (7, 8)
    ]
    text = plain(row_diff.outcomes(results, 80))
    assert text.count("differs") == 1
    assert text.index("n7") < text.index("a.b is 7") < text.index("n8") < text.index("a.b is 8")
    assert "a.b is" not in plain(row_diff.outcomes(results, 80, limit=0))


@given(ROWS, ROWS, st.integers(20, 200))
def test_differences_are_harmless(
    before: dict[str, object] | None, after: dict[str, object] | None, width: int
) -> None:
    check_no_controls(
        row_diff.differences([RowChange(id="n", table="\x1bt", key="k\n", before=before, after=after)], width)
    )


@given(NASTY, st.lists(NASTY, min_size=1, max_size=4), st.integers(10, 200))
def test_pieces_are_harmless(text: str, cells: list[str], width: int) -> None:
    check_no_controls([lines.heading(text, text), lines.plain(text), *lines.wrapped(text, width)])
    check_no_controls(lines.pairs([(text, text)], width))
    check_no_controls(lines.table(cells, [cells, cells], width))


@given(
    st.lists(st.tuples(st.text(" ab漢é", max_size=40), st.sampled_from(["", "bold"])), max_size=4), st.integers(2, 60)
)
def test_a_wrapped_line_keeps_its_words_and_fits(line: Spans, width: int) -> None:
    found = wrap(line, width)
    assert all(spans.width(part) <= width for part in found)
    assert "".join(map(spans.text, found)).replace(" ", "") == spans.text(line).replace(" ", "")


@given(NASTY, st.integers(16, 160))
def test_a_detail_page_is_harmless(text: str, width: int) -> None:
    found = Finding(
        engine="s",
        node_id="s/task:1",
        code="c",
        title=text,
        sentence=text,
        severity=9,
        proof=Proof.ASSUMED,
        action="wake",
        evidence={text: text},
    )
    sections = (
        Section(name="p", title=text, payload=Payload(head=text.encode("utf-8", "surrogatepass"), size=10_000_000)),
        Section(name="t", title=text, columns=(text,), rows=((text,), (None,))),
        Section(name="c", title=text, scan_required=ScanRequired(need="n", why=text, blocks=10**6, ddl=text)),
    )
    page = Detail(
        node=node(title=text, status=text, error=text, owner=text), at=NOW, sections=sections, findings=(found,)
    )
    record = AuditLogEntry(
        id="1", at=NOW, role=text, os_user=text, host=text, engine="s", schema=text, action=text, reason=text
    )
    recorded = facts(page.node, NOW, None)
    check_no_controls(
        detail.detail(page, width, now=NOW, engine=None, helps=lambda _: "", facts=recorded, entries=[record])
    )
    check_no_controls(audit_entry.entry_lines(record, width))


@pytest.mark.parametrize("instant", [float("inf"), float("-inf"), 4e11, -2e11, 0.0])
def test_times_at_the_ends_of_the_range(instant: float) -> None:
    page = Detail(node=node(created_at=instant, changed_at=instant, due_at=instant, cpu=instant, poll=instant), at=NOW)
    recorded = facts(page.node, NOW, None)
    check_no_controls(detail.detail(page, 80, now=NOW, engine=None, helps=lambda _: "", facts=recorded, entries=[]))


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=4), st.integers(1, 100))
def test_a_line_never_outgrows_its_width(left: list[str], right: list[str], width: int) -> None:
    assert spread(left, right, width).cell_length <= max(width, 12)


def test_squeezing_keeps_rank_and_order() -> None:
    parts = [(2, Content("aaaa")), (1, Content("bbbb")), (3, Content("cccc"))]
    assert squeeze(parts, 10).plain == "aaaa  bbbb"
    assert squeeze(parts, 4).plain == "bbbb"
    assert squeeze(parts, 3).plain == ""


def test_columns_are_aligned_even_where_a_row_ends_early() -> None:
    rows = [["1"], ["333", "22"], ["4", "5"]]
    assert [*map(spans.text, lines.aligned(rows))] == ["1  ", "333  22", "4    5 "]
    assert [*map(spans.text, lines.aligned(rows, right=(0,)))] == ["  1", "333  22", "  4  5 "]


@pytest.mark.parametrize("width", [64, 80, 120])
@pytest.mark.parametrize(("crumbs", "note"), [((), "x" * 100), (("eternaltwin", "y" * 80), "31 dead letters")])
def test_tabs_keep_their_words(crumbs: tuple[str, ...], note: str, width: int) -> None:
    modes = [(keymap.shown(key.keys), key.id.removeprefix("mode."), key.title.split()[0]) for key in keymap.MODES]
    line = tabs_line(width, modes, "dead", {"stuck": "120"}, crumbs, note)
    assert line.cell_length <= width
    assert line.plain.startswith("  1 tree  2 now 120  3 dead  4 audit  5 changed  ? help")


def test_the_footer_begins_with_the_suggested_action_and_offers_what_is_possible() -> None:
    drop, wake = Hint(key="X", title="Drop", best=True), Hint(key="W", title="Wake", why="it is done")
    assert footer_lines(80, [drop, wake], [], low=False).plain.splitlines()[0].split() == ["X", "Drop"]
    assert footer_lines(80, [wake], [], low=False).plain.splitlines()[0].strip() == REFUSED
    without = [footer_lines(80, [], [drop], low=False, acts=acts).plain.split("\n") for acts in (False, True)]
    assert [len(lines) for lines in without] == [1, 2], "the list above does not move"


def of_age(age: float, *, link: str = "live", interval: float = 2.0, **rest: Any) -> Header:
    """Return the header of a screen whose data is ``age`` seconds old."""
    late = is_late(age, interval)
    shown = old(age, exact=late or link != "live")
    return Header(link=link, age=shown, late=late, interval=interval, **rest)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (Header(), "connecting…"),
        (Header(retry=4.0), "no connection, again in 4s"),
        (of_age(0.5), "● live"),
        (of_age(3.9), "● live <5s old"),
        (of_age(4.1, pace=9.0), "read every 9s  data 4s old"),
        (of_age(9.0, interval=5.0), "● live 9s old"),
        (of_age(60.0), "data 1m old"),
        (of_age(2.0, paused=True), "paused, <5s old"),
        (of_age(19.0, paused=True), "paused, 15s old"),
        (of_age(90.0, paused=True), "paused, 1m old"),
        (of_age(3.0, link="lost"), "no connection, 3s old, reconnecting"),
        (of_age(10.0, link="lost", retry=3.0), "no connection, 10s old, again in 3s"),
        (of_age(0.1, pace=20.0), "read every 20s  ● live"),
        (of_age(0.1, critical=3), "3 critical incidents  ● live <5s old"),
        (Header(server="h", behind="standby, data of 08:24:56Z"), "standby, data of 08:24:56Z"),
        (Header(context="prod", production="prod"), "prod · PRODUCTION"),
        (Header(production="prod"), "unstick · PRODUCTION (prod)"),
        (Header(server="h", read_only="read-only: server default"), "read-only: server default"),
        (Header(server="h", superuser=True), "superuser"),
        (Header(server="h", unencrypted=True), "not encrypted"),
    ],
)
def test_the_header_shows_the_state(header: Header, wanted: str) -> None:
    assert wanted in header_line(120, header).plain
    assert header_line(40, header).cell_length <= 40


def test_data_is_at_least_as_old_as_the_header_says() -> None:
    for age in map(float, range(3600)):
        shown = old(age, exact=True).removesuffix(" old")
        least, step = (int(shown[:-1]) * 60, 60) if shown.endswith("m") else (int(shown[:-1]), 1 if age < 10 else 5)
        assert least <= age < least + step, shown


@pytest.mark.parametrize("width", [60, 71, 72, 80, 120])
def test_a_lost_connection_is_said_in_every_width(width: int) -> None:
    lost = of_age(5400.0, link="lost", server="x" * 40, retry=60.0, critical=120)
    assert "no connection, 1h old, again in 1m00s" in header_line(width, lost).plain


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("production", ["db", ""])
def test_a_narrow_header_keeps_what_changes_an_action(width: int, production: str) -> None:
    said = of_age(0.1, context="db", production=production, server="x" * 200)
    line = header_line(width, replace(said, superuser=True, unencrypted=True)).plain
    assert "superuser" in line
    assert width < 80 or "not encrypted" in line


@pytest.mark.parametrize(("share", "said"), [(0.4, False), (0.6, True)])
def test_a_dry_run_that_needs_half_of_the_limit_says_so(share: float, said: bool) -> None:
    dry_run = Change(
        engine="e",
        action="a",
        reason="r",
        arguments={},
        results=(),
        versions={"e/job:1": "1"},
        row_digests={},
        changes=(),
        at=0.0,
        audit_log="table",
        held=database.WRITE_SECONDS * share,
    )
    page = action.dry_run_lines(dry_run, [signals.ACTIONS["end_session"]], (), 100)
    shown = " ".join(" ".join(map(spans.text, page)).split())
    assert ("select fewer nodes at a time" in shown) is said
