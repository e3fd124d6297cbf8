"""Templates of the demo: the steps of each task, and their handlers' chances.

``flaky`` is the chance that an attempt fails and can be retried, ``fatal`` that it fails permanently.
"""

from __future__ import annotations

from typing import Any, Final

from queries.records.record import Record


class Step(Record):
    """A step of a template.

    ``after`` names its parents, ``ticks`` is the duration of its handler.
    ``made_by`` names the decision step that creates this one. Without it the step is created with its task.
    """

    name: str
    after: tuple[str, ...] = ()
    ticks: int = 1
    flaky: float = 0.05
    fatal: float = 0.0
    max_attempts: int = 3
    retryable: bool = True
    made_by: str = ""


class Template(Record):
    """A version of a named task."""

    namespace: str
    name: str
    version: str
    steps: tuple[Step, ...]
    lifecycle: dict[str, int] = {}

    def made(self, decision: str, chosen: str) -> tuple[Step, ...]:
        """Return the step that a decision chooses, and the steps that wait for it."""
        dynamic = [s for s in self.steps if s.made_by == decision]
        return tuple(s for s in dynamic if s.name == chosen or chosen in s.after)

    def choices(self, decision: str) -> tuple[str, ...]:
        """Return the names of the steps that a decision can choose."""
        return tuple(s.name for s in self.steps if s.made_by == decision and decision in s.after)

    @property
    def configuration(self) -> dict[str, Any]:
        """The fields of the engine's format that the console reads."""
        steps = [{"name": s.name, "dependencies": list(s.after)} for s in self.steps]
        fields: dict[str, Any] = {"name": self.name, "version": self.version, "steps": steps}
        return fields | ({"lifecycle": dict(self.lifecycle)} if self.lifecycle else {})


TEMPLATES: Final = (
    Template(
        namespace="shop",
        name="fulfil_order",
        version="1.2.0",
        steps=(
            Step(name="validate_cart"),
            Step(name="reserve_stock", after=("validate_cart",), ticks=2),
            Step(name="charge_card", after=("validate_cart",), ticks=3, flaky=0.15, fatal=0.02),
            Step(name="pack_parcel", after=("reserve_stock", "charge_card"), ticks=4),
            Step(name="book_carrier", after=("reserve_stock",), ticks=2, flaky=0.2),
            Step(name="send_confirmation", after=("pack_parcel", "book_carrier", "charge_card")),
        ),
    ),
    Template(
        namespace="shop",
        name="refund",
        version="1.0.0",
        steps=(
            Step(name="check_return", ticks=2),
            Step(name="refund_card", after=("check_return",), ticks=3, fatal=0.05, retryable=False),
            Step(name="notify_customer", after=("refund_card",)),
        ),
    ),
    Template(
        namespace="shop",
        name="review_return",
        version="1.1.0",
        steps=(
            Step(name="inspect_parcel", ticks=2),
            Step(name="decide_return", after=("inspect_parcel",)),
            Step(name="restock", after=("decide_return",), ticks=3, made_by="decide_return"),
            Step(name="scrap", after=("decide_return",), made_by="decide_return"),
            Step(name="credit_customer", after=("restock", "scrap"), made_by="decide_return"),
        ),
    ),
    Template(
        namespace="reports",
        name="nightly_report",
        version="2.0.1",
        lifecycle={"max_waiting_for_dependencies_minutes": 240, "max_steps_in_process_minutes": 120},
        steps=(
            Step(name="open_books"),
            *(Step(name=f"sum_region_{r}", after=("open_books",), ticks=6) for r in ("north", "east", "south", "west")),
            Step(name="merge_regions", after=tuple(f"sum_region_{r}" for r in ("north", "east", "south", "west"))),
            Step(name="audit_totals", after=("merge_regions", "open_books"), ticks=3),
            Step(name="publish", after=("audit_totals",)),
        ),
    ),
    Template(
        namespace="mail",
        name="newsletter",
        version="1.0.0",
        steps=(
            Step(name="select_readers"),
            Step(name="render", after=("select_readers",), ticks=2),
            Step(name="deliver_batch", after=("render",), ticks=8),
            Step(name="count_bounces", after=("deliver_batch",)),
        ),
    ),
    Template(
        namespace="legacy",
        name="sync_erp",
        version="0.9.0",
        steps=(Step(name="pull_erp"), Step(name="push_erp", after=("pull_erp",))),
    ),
)

STEPS: Final = {s.name: s for t in TEMPLATES for s in t.steps}
UNSERVED: Final = frozenset({"legacy"})  # no worker serves it


def template(namespace: str, name: str, version: str) -> Template | None:
    """Return the template with this name and version, or None."""
    return next((t for t in TEMPLATES if (t.namespace, t.name, t.version) == (namespace, name, version)), None)
