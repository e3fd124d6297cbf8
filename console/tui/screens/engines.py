"""List of the engines, worst first, each with its numbers and rates."""

from __future__ import annotations

from collections.abc import Sequence

from console.model.fields.engine import ENGINES, EngineLine, worst_first
from console.model.fields.field import Bundle
from console.model.visited_places import Place
from console.text.severity import band, sign
from console.text.spans import Spans
from console.text.views.lines import plain
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.list_screen import ListScreen
from console.tui.views import empty_state

OF_RECORDS = ("rows.mark", "rows.group", "rows.unfold", "rows.fold")  # an engine has no use for these keys


class EnginesScreen(ListScreen[EngineLine]):
    """Shows what the line of the engines has no room for.

    ``mode``: from which it was opened.
    """

    KEYS = keymap.ROWS
    RECORDS = ENGINES
    SEARCHES = False

    def place(self) -> Place:
        return self.opened("engines")

    def crumbs(self) -> Sequence[str]:
        return ["engines", *super().crumbs()]

    def label(self) -> str | None:
        return self.row.records[0].label if self.row else None

    def note(self) -> str:
        return "  ".join(self.count())

    def offers(self, key: Key) -> bool:
        return super().offers(key) and not key.id.startswith(OF_RECORDS)

    def titled(self, key: Key) -> str:
        return "next" if key.id == "rows.engines" else super().titled(key)

    @property
    def loaded(self) -> bool:
        return bool(self.session.engines)

    def records(self) -> Sequence[EngineLine]:
        return sorted(self.engine_lines(self.session.engines), key=worst_first)

    def nothing(self) -> tuple[str, str]:
        return empty_state.why(self.session, None)

    def lines(self, row: Bundle[EngineLine], width: int) -> list[Spans]:
        """Return the incidents of the engine, worst first."""
        shown = [each for each in self.session.state.shown.incidents if each.engine == row.records[0].label]
        return [
            [(f"{sign(each.severity, self.host.ascii)} ", band(each.severity).ink), (f"{each.title}  {each.about}", "")]
            for each in shown
        ] or [plain("No incident of its own.", "$faint", 0)]

    def open(self, record: EngineLine) -> None:
        self.dismiss()
        self.app.call_later(self.app.run_action, f"app.show_engine({list(self.session.engines).index(record.label)})")
