"""Fields of a run: the columns of `runs`. UI-free."""

from __future__ import annotations

from typing import Final

from console.model.fields.field import Field, Form
from console.text.views.redrive import STATES, answers
from queries.records.run import RunSummary

FIELDS: Final[tuple[Field[RunSummary], ...]] = (
    Field("run", "run", printed="run", style="bold"),
    Field("age", "at", Form.AGE, "time since it began", printed="begun"),
    Field("who", "who", printed="by"),
    Field("kind", "kind", printed="kind"),
    Field("engine", "engine", printed="engine"),
    Field("action", "action", printed="action"),
    Field("selection", "selection", printed="selection"),
    Field("changed", "changed", printed="changed", spans=lambda run, _: [(f"{run.changed} of {run.nodes}", "")]),
    Field("state", "state", printed="state", spans=lambda run, _: [(STATES[run.state], "")]),
    Field("answers", "answers", printed="answers", spans=lambda run, _: [(answers(run.answers), "")]),
)
