"""Filter by values in stored JSON texts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from console.model.fields.field import Context
from console.model.filter import NODES, FilterError, parse
from console.model.selection import TEXT_BYTES, select
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import opened
from tests.unit.test_filter import MAIL, NOW

STORED = {"tenant": "Acme", "order": {"id": 42, "lines": [{"sku": "a1"}, {"sku": "b2"}]}, "paid": True, "note": None}
STORED["a b"] = {"x.y": 7}


@pytest.mark.parametrize(
    ("text", "matching"),
    [
        ("payload.tenant:acme", True),
        ("payload.TENANT:=acme", True),
        ("payload.tenant:cme", False),
        ("payload.order.id:=42", True),
        ("payload.order.lines.sku:b2", True),
        ("payload.order.lines.sku:c3,b", True),
        ("payload.order:any", True),
        ("payload.paid:true", True),
        ("payload.note:none", True),
        ("payload.missing:none", True),
        ("!payload.tenant:acme", False),
        ("payload.tenant.more:any", False),
        ('payload."a b"."X.y":7', True),
        ('payload."a b".x.y:7', False),
    ],
)
def test_a_key_of_a_stored_text_is_compared(text: str, matching: bool) -> None:
    context = Context(now=NOW, documents={MAIL.id: [STORED]})
    assert NODES.matches(parse(text), context)(MAIL) is matching
    assert str(parse(str(parse(text)))) == str(parse(text))


@pytest.mark.parametrize("text", ["payload:1", "payload.:1", "payload.a..b:1", "payload.a:>3"])
def test_what_names_no_key_is_refused(text: str) -> None:
    with pytest.raises(FilterError):
        parse(text)


async def tasks(eternaltwin_db: EternaltwinDb) -> list[str]:
    """Add tasks with texts of five forms; only the first has the value."""
    long = json.dumps({"tenant": "acme", "more": "x" * TEXT_BYTES})
    texts = [json.dumps(STORED), long, '{"tenant": "acme"', "[" * 4000, json.dumps({"tenant": "other"})]
    return [eternaltwin_db.id(await eternaltwin_db.task(state=text.encode())) for text in texts]


async def test_only_nodes_whose_text_has_the_value_are_selected(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    first, *_ = await tasks(eternaltwin_db)
    workspace = await opened(eternaltwin, tmp_path)
    found = await select(workspace.engines["eternaltwin"], parse("payload.tenant:acme kind:task"))
    others = await select(workspace.engines["eternaltwin"], parse("!payload.tenant:acme kind:task"))
    assert len(others.nodes) == 3, "nothing is said of the one that was not compared"
    await workspace.close()
    assert [node.id for node in found.nodes] == [first]
    assert found.missing == ("nodes of eternaltwin with a stored text above 8 kB were not compared: 1",)


async def test_the_tree_on_the_command_line_says_what_it_did_not_compare(
    eternaltwin_db: EternaltwinDb, eternaltwin: str
) -> None:
    await tasks(eternaltwin_db)
    answer = await asyncio.to_thread(unstick, "tree", "--filter", "payload.tenant:acme", dsn=eternaltwin)
    assert answer.out.count("SendEmail") == 2, "a job and its task"
    assert "above 8 kB" in answer.out + answer.err


async def test_the_tree_compares_the_texts_of_loaded_nodes(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, kind="Wanted", state=json.dumps(STORED).encode())
    other = await eternaltwin_db.task(job, kind="Other", state=b'{"tenant": "other"}')
    async with run_tui(eternaltwin, tmp_path, size=(140, 40)) as tui:
        await tui.press("l")
        await tui.wait_for("Wanted v1", "Other v1", "● live")
        await tui.press("slash")
        await tui.type("payload.tenant:acme")
        await tui.press("enter")
        await tui.wait_for("Wanted v1", lambda: "Other v1" not in tui.text)
        await eternaltwin_db.sql(
            "UPDATE task SET state = $2, revision = revision + 1 WHERE task_id = $1",
            *(other, json.dumps(STORED).encode()),
        )
        await tui.wait_for("2 of 2", "Other v1")
        await eternaltwin_db.sql("DELETE FROM task WHERE task_id = $1", task)
        await tui.wait_for("1 of 1", "Other v1")


async def test_a_filter_that_a_page_cannot_answer_leads_to_the_page_that_can(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await tasks(eternaltwin_db)
    done = await eternaltwin_db.task(kind="Done", status="Complete")
    async with run_tui(eternaltwin, tmp_path, start="stuck", size=(120, 40)) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        await tui.press("slash")
        await tui.type("payload.tenant:acme kind:task")
        await tui.wait_for("enter compares all nodes with the filter", lambda: "filter: payload" not in tui.text)
        await tui.press("enter")
        await tui.wait_for("find: payload.tenant:acme kind:task", "1 found", "SendEmail v1", "above 8 kB")
        await tui.press("escape", "1", "l")
        await tui.wait_for("unfinished, ", "SendEmail v1")
        await tui.press("slash")
        await tui.type("status:complete kind:task")
        await tui.wait_for("The filter hides all loaded rows.", "only unfinished nodes are in this list")
        await tui.press("enter", "enter")
        await tui.wait_for("find: status:complete", "1 found", "Done v1")
        await tui.press("enter")
        await tui.wait_for(eternaltwin_db.id(done))
