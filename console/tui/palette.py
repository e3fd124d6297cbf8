"""Command palette, filled from the key tables and the front screen's actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

from console.model.filter import Filter, FilterError, allows, parse
from console.model.selection import may_match
from console.tui import keymap, theme
from console.tui.host import Host
from console.tui.keymap import Key
from console.tui.screens.base import MainScreen
from console.tui.widgets.footer import Hint
from queries.contract.spec import Action
from queries.read.reader import Reader
from queries.text.counted import noun_of, plural
from queries.text.safe_text import safe_text

DRY_RUN = "Dry run first; nothing is committed until you confirm"


class Command(NamedTuple):
    """Entry of the palette."""

    title: str
    about: str
    run: Callable[[], object]


class Commands(Provider):
    """Everything that can be done here, and a search for any other text."""

    @property
    def _host(self) -> Host:
        return cast(Host, self.app)

    @property
    def _front(self) -> MainScreen | None:
        return self.screen if isinstance(self.screen, MainScreen) else None

    async def discover(self) -> Hits:
        for command in self._commands():
            # the palette reads markup, and a reason may contain the name of a role
            yield DiscoveryHit(escape(command.title), command.run, help=escape(command.about))

    async def search(self, query: str) -> Hits:
        text = query.strip()
        matcher = self.matcher(text)
        for command in self._commands():
            if (score := matcher.match(command.title)) > 0:
                yield Hit(score, matcher.highlight(command.title), command.run, help=escape(command.about))
        if text.startswith("@"):
            return
        for command in self._named(text):
            yield Hit(2.0, Content(safe_text(command.title)), command.run, help=command.about)
        likely = 1.0 if any(map(str.isdigit, text)) else 0.01
        open_ = partial(self.app.call_later, self._host.follow, text)
        yield Hit(likely, Content(safe_text(f"open {text}")), open_, help="The node with this id, in any engine")
        find = partial(self.app.call_later, self._host.action_find, text)
        yield Hit(likely / 2, Content(safe_text(f"find {text}")), find, help="Nodes by id or text, in all engines")

    def _commands(self) -> Iterator[Command]:
        """Yield commands for the row, for the screen, and for all screens.

        An action that the row refuses follows the screen's keys, with the reason.
        """
        front = self._front
        hints = [] if front is None else front.action_hints()
        yield from (self._action(hint) for hint in hints if not hint.why)
        if front is not None:
            yield from (self._key(key) for key in front.KEYS if key.handler)
        yield from (self._action(hint) for hint in hints if hint.why)
        yield from (self._key(key) for key in keymap.APP if not key.always and key.id != "palette")
        current = self._host.context
        for name in self._host.config.contexts:
            if current is None or name != current.name:
                switch = partial(self.app.call_later, self._host.switch_context, name)
                yield Command(safe_text(f"@{name}"), "Switch to this database", switch)
        for each in theme.THEMES:
            yield Command(f"theme {each.name}", "Change the colours", partial(setattr, self.app, "theme", each.name))

    def _named(self, text: str) -> Iterator[Command]:
        """Yield the actions that ``cancel SendEmail`` names.

        There is one for each engine and kind, for all nodes that match. The engine of the screen is first.
        """
        name, _, rest = text.partition(" ")
        key = self._host.keys.of_action(name)
        try:
            typed = parse(rest, saved=self._host.config.filters)
        except FilterError:
            return
        front = self._front
        if front is None or not key or not typed.terms:
            return
        label, readers = front.label(), self._host.session.engines.values()
        for reader in sorted(readers, key=lambda reader: reader.label != label):
            for kind in reader.engine.spec.kinds:
                for action in reader.engine.actions_of(kind.name):
                    chosen = _narrowed(typed, reader, kind.name, action)
                    if action.name == name and action.writes and chosen is not None:
                        title = f"{action.title}: all {plural(noun_of(kind.name))} of {reader.label} that match {typed}"
                        act = partial(self.app.call_later, self._act_on_all, front, key, reader, chosen)
                        yield Command(title, DRY_RUN, act)

    def _act_on_all(self, front: MainScreen, key: str, reader: Reader, filter: Filter) -> None:
        from console.tui.screens.action import perform_on_all

        self._host.act(perform_on_all(front, key, reader, filter))

    def _action(self, hint: Hint) -> Command:
        about = safe_text(hint.why) or DRY_RUN
        perform = partial(self.app.call_later, self.app.run_action, f"app.perform('{hint.key}')")
        return Command(f"{hint.title} ({hint.key})", about, perform)

    def _key(self, key: Key) -> Command:
        perform = partial(self.app.call_later, self.app.run_action, key.handler, self.app)
        return Command(f"{key.title} ({self._host.keys.shown(key)})", key.about, perform)


def _narrowed(filter: Filter, reader: Reader, kind: str, action: Action) -> Filter | None:
    """Narrow a filter to nodes that the action is for.

    Return None if the filter names other engines or kinds.
    """
    if not may_match(filter, reader.label) or not all(allows(t, kind) for t in filter.terms if t.field == "kind"):
        return None
    phases = f" phase:{','.join(f'={phase}' for phase in action.phases)}" if action.phases else ""
    return Filter(terms=(*filter.terms, *parse(f"kind:={kind}{phases}").terms))
