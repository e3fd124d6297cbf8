"""Fields of a run in a list. UI-free."""

from __future__ import annotations

from typing import Final

from console.model.fields.field import Field, Form
from console.text.pages.redrive import STATES, answers
from queries.records.run import RunSummary

FIELDS: Final[tuple[Field[RunSummary], ...]] = (
    Field("run", "run", searched=True, printed="run", style="bold"),
    Field("age", "at", Form.AGE, "time since it began", printed="begun"),
    Field("who", "who", Form.PART, "who began it", printed="by"),
    Field("kind", "kind", Form.BEGINNING, "bulk or redrive", printed="kind"),
    Field("engine", "engine", Form.BEGINNING, "label of the engine", printed="engine"),
    Field("action", "action", Form.BEGINNING, "name of the action", printed="action"),
    Field("selection", "selection", Form.PART, "the dead letters of a redrive, in words", printed="selection"),
    Field(
        "changed",
        "changed",
        Form.NUMBER,
        "number of changed nodes",
        printed="changed",
        spans=lambda run, _: [(f"{run.changed} of {run.nodes}", "")],
    ),
    Field(
        "state",
        "state",
        Form.BEGINNING,
        "open, or why it ended",
        printed="state",
        spans=lambda run, _: [(STATES[run.state], "")],
    ),
    Field("answers", "answers", printed="answers", spans=lambda run, _: [(answers(run.answers), "")]),
)
