"""Base of all screens: header, engines, tabs, status line and footer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.events import ScreenResume
from textual.screen import Screen

from console.model.fields.engine import EngineLine, flow
from console.model.session import ConnectionState
from console.model.visited_places import Place
from console.text import formatting, severity
from console.text.formatting import Times
from console.tui import keymap, theme
from console.tui.guide import FIRST
from console.tui.help_context import HelpContext
from console.tui.keymap import Key
from console.tui.screens.console_screen import ConsoleScreen
from console.tui.textual_compat import lay_out, text_of
from console.tui.widgets.engines_bar import EngineLines, engine_lines
from console.tui.widgets.footer import Hint, footer_lines
from console.tui.widgets.header import Header, header_line, is_late, old, unchanged_for
from console.tui.widgets.messages import status_line
from console.tui.widgets.tabs import tabs_line
from console.tui.widgets.text_bar import TextBar
from queries.contract.engine import Engine
from queries.contract.spec import Action
from queries.db.errors import DatabaseError
from queries.records.finding import Finding
from queries.records.node import Node
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.tui.screens.copy import CopyChoice


REFUSED_SECONDS = 12.0  # for which a refusal is shown


class MainScreen(ConsoleScreen[None], Screen[None]):
    """Base of a screen.

    Subclasses define its body, its keys and the target nodes of actions.
    """

    MODE: ClassVar[str] = ""
    ALLOW_IN_MAXIMIZED_VIEW = "#header, #filter, #status, #footer"
    DEFAULT_CSS = """
    MainScreen #header { background: $panel; &.-production { color: auto 95%; } }
    MainScreen #tabs { background: $surface; }
    MainScreen .around.-off { max-height: 0; }
    MainScreen #status { height: auto; display: none; }
    MainScreen.-says #status { display: block; }
    MainScreen #footer { height: auto; max-height: 3; background: $surface; }
    MainScreen.-low #tabs { display: none; }
    """

    _ready = False  # whether all widgets are there
    _shown = False  # whether it was ever in front
    _acts = False  # whether a row had actions
    _times = Times.RELATIVE  # the form of times in which the screen was painted

    def __init__(self, mode: str = "") -> None:
        """``mode``: from which the screen is opened; "" for the first screen of a mode."""
        super().__init__()
        self._mode = mode or self.MODE
        self._header_bar = TextBar(header_line, id="header")
        self._engines_bar = TextBar(engine_lines, id="engines", classes="around")
        self._tabs_bar = TextBar(tabs_line, id="tabs", classes="around")
        self._status_bar = TextBar(status_line, id="status")
        self._footer_bar = TextBar(footer_lines, id="footer")

    @property
    def alive(self) -> bool:
        """True while the screen has all its widgets.

        A screen that is being closed leaves the stack before it loses its widgets.
        """
        return self._ready and not self.closed and self in self.app.screen_stack

    # what a screen says of itself

    def body(self) -> Iterable[object]:
        """Return the widgets of the screen."""
        return ()

    def tab(self) -> str:
        """Return the name of the tab that is marked, or ""."""
        return self.mode()

    def mode(self) -> str:
        """Return the mode of the screen."""
        return self._mode

    def place(self) -> Place:
        """Return where the screen is in the history."""
        return Place(self.mode())

    def opened(self, key: str, *subject: object) -> Place:
        """Return the place of this screen, which another one has opened about a subject."""
        app, mode, screen = self.app, self._mode, cast(Callable[..., Screen[None]], type(self))
        return Place(mode, key, lambda: app.push_screen(screen(*subject, mode)))

    def crumbs(self) -> Sequence[str]:
        """Return the path of the screen inside its mode, for the tab line."""
        return ()

    def note(self) -> str:
        """Return a short note for the right end of the tabs: the number of rows."""
        return ""

    def label(self) -> str | None:
        """Return the label of the engine in front."""
        return None

    @property
    def engine(self) -> Engine | None:
        """The engine in front, with this database's options."""
        reader = self.session.engines.get(self.label() or "")
        return reader.engine if reader else None

    def targets(self) -> list[Node]:
        """Return the target nodes of an action.

        The node under the cursor is first, if it is a target.
        """
        return []

    async def read_targets(self) -> None:
        """Read the target nodes that were not read yet. Raises DatabaseError."""

    def cursor(self) -> Node | None:
        """Return the node under the cursor, as last read."""
        targets = self.targets()
        return targets[0] if targets else None

    def subject(self) -> Node | None:
        """Return the node that the footer's actions are about: the first target."""
        return self.cursor()

    def cause_session(self) -> tuple[str, float] | None:
        """Return the id and the start of the session that is the cause of the row."""
        return None

    def unseen(self) -> int:
        """Return the number of targets that are not in view."""
        return 0

    def offers(self, key: Key) -> bool:
        """Return True if the footer shows this key now."""
        return bool(key.rank)

    def titled(self, key: Key) -> str:
        """Return what the footer says of a key: what it does now."""
        return key.title

    def acted(self) -> None:
        """Handle the end of an action on the targets."""

    async def load(self) -> None:
        """Read what the screen shows. Raises DatabaseError."""

    async def read(self) -> None:
        """Read what the screen shows, then paint it. Raises DatabaseError."""
        await self.load()
        if self.alive:
            await self.paint(self.show_body)

    async def paint(self, show: Callable[[], object]) -> None:
        """Show something else, and paint it once, in its final layout."""
        with self.app.batch_update():
            show()
            await lay_out(self)
        self.check_idle()  # it had its messages in the batch, so that nothing else tells it to paint

    def begin(self, reading: Coroutine[Any, Any, object], group: str = "read", *, exclusive: bool = False) -> None:
        """Read in the background. If it fails, say why.

        ``exclusive``: ends what of the group is still running.
        """
        self.run_worker(self.succeeds(reading), group=group, exclusive=exclusive)

    async def succeeds(self, reading: Awaitable[object]) -> bool:
        """Await a read. Say why it failed, and return False then."""
        try:
            await reading
        except DatabaseError as error:
            self.session.failed(error)
            self.say(str(error), "bad")
            return False
        return True

    def show_body(self) -> None:
        """Paint the body from the session's current data."""

    def times_changed(self) -> None:
        """Fit the columns to the new form of times."""

    # the frame

    def compose(self) -> ComposeResult:
        columns = self.HORIZONTAL_BREAKPOINTS or self.app.HORIZONTAL_BREAKPOINTS
        sizes = zip(self.app.size, (columns, self.app.VERTICAL_BREAKPOINTS), strict=True)
        for size, steps in sizes:  # as soon as there are widgets: styles are worked out once
            self.add_class(*[name for least, name in steps or () if least <= size][-1:], update=False)
        yield from (self._header_bar, self._engines_bar, self._tabs_bar)
        yield from self.body()  # type: ignore[misc]
        yield from (self._status_bar, self._footer_bar)

    def on_mount(self) -> None:
        self._ready = True
        self.renew()

    def on_screen_resume(self, event: ScreenResume) -> None:
        event.refresh_styles = self._shown  # they are fresh the first time
        self._shown = True
        if self.is_current:  # not if it is only passed on the way to another screen
            self.host.visited(self.place())
        self.renew()
        self.session.run_now()
        if self.session.paused:
            self.say("Refresh is paused: the screen is read once now. r reads it again.", "warn")

    def on_key(self, event: events.Key) -> None:
        """Refuse keys that open a field elsewhere: text typed after them is no command."""
        typed = event.character or ""
        if typed.islower() and not typed.isascii():
            self.say(f"{typed} is no command: the keys are Latin. Switch the keyboard layout.", "warn")
        if typed.isupper() and event.key not in self.active_bindings:  # these take long to find
            self.host.refuse(f"{event.character} does nothing here. ? lists the keys.")

    def on_paste(self, event: events.Paste) -> None:
        """Search for text that is pasted outside a field: it must not run as commands."""
        self.host.action_find(" ".join(event.text.split()))

    def on_resize(self) -> None:
        if self._ready:
            self.renew_footer()

    def renew(self) -> None:
        """Repaint the screen."""
        if self.alive and not self.host.starting:
            if self._times is not self.host.times:
                self._times = self.host.times
                self.times_changed()
            self.show_body()
            self.renew_frame()

    def renew_frame(self) -> None:
        """Repaint what is around the body."""
        if self.alive and not self.host.starting:
            self.renew_header()
            self.renew_place()

    def renew_place(self) -> None:
        """Update engines, tabs and footer after the cursor or the marks changed."""
        self._renew_engines()
        number = len(self.session.state.shown.incidents)
        badges = {"stuck": f"{number}{'+' if self.session.state.more else ''}"} if number else {}
        shown = self.host.keys.shown
        modes = [(shown(key), key.id.removeprefix("mode."), key.title.partition(" ")[0]) for key in keymap.MODES]
        self._tabs_bar.show(modes, self.tab(), badges, self.crumbs(), self.note())
        self.renew_footer()

    def renew_header(self) -> None:
        """Repaint the header now, and again as soon as its age reads otherwise."""
        if self._ready:
            header = self._header()
            self._header_bar.set_class(bool(header.production), "-production")
            self._header_bar.styles.background = header.color if header.production else None
            self._header_bar.show(header)
            live = self.session.link is ConnectionState.LIVE
            age = None if self.data_age is None else max(self.data_age, self.rows_age)
            self.host.renew_header_in(unchanged_for(age, self.session.timer.interval, live=live))

    def renew_footer(self) -> None:
        """Update the key hints."""
        if self._ready:
            looks = [*self.KEYS, *(key for key in keymap.APP if key.rank)]
            bound = [(name, key) for key in looks if self.offers(key) for name in self.host.keys.names(key)[:1]]
            hints = [
                Hint(key=keymap.shown(name), title=self.titled(key), rank=key.rank, press=name) for name, key in bound
            ]
            actions = self.action_hints()
            self._acts = self._acts or bool(actions)
            low, guide = self.app.size.height < 16, self._guide(actions)
            self._footer_bar.show(actions, hints, low=low, acts=self._acts, guide=guide)

    def _guide(self, actions: Sequence[Hint]) -> str:
        best = next((hint for hint in actions if hint.best and not hint.why), None) if self.guided() else None
        if best:
            return self.host.guide.line(2, f"press {best.key} ({best.title}). Nothing changes before the dry run.")
        key = self.host.keys.shown(keymap.BY_ID["rows.filter" if self.mode() == "stuck" else "mode.stuck"])
        next_ = f", type {FIRST}, and press enter" if self.mode() == "stuck" else " to list what is stuck"
        return self.host.guide.line(1, f"press {key}{next_}. esc ends this guide.")

    def guided(self) -> bool:
        """Return True if the row under the cursor is that of the first repair."""
        return False

    def say(self, text: str, tone: str = "") -> None:
        """Show a message in the status line."""
        if self._ready:
            self._status_bar.show(text, tone)
            self.set_class(bool(text), "-says")

    def refuse(self, why: str) -> None:
        """Say why a key does nothing, until something else is said, or for some seconds."""
        self.say(why, "warn")
        self.set_timer(REFUSED_SECONDS, lambda: self.say("") if self._status_bar.shows(why, "warn") else None)

    def actions(self) -> list[tuple[str, Action]]:
        """Return the actions for the first target, each with its key."""
        node = self.subject()
        reader = self.session.reader(node.id) if node else None
        if node is None or reader is None:
            return []
        of_kind = {action.name: action for action in reader.engine.actions_of(node.kind)}
        pairs = [
            (key, of_kind[name]) for key, names in self.host.keys.actions.items() for name in names if name in of_kind
        ]
        order = {name: place for place, name in enumerate(of_kind)}
        return sorted(pairs, key=lambda pair: order[pair[1].name])

    def suggested(self) -> str | None:
        """Return the name of the action that is suggested for the first target."""
        node = self.subject()
        findings = [] if node is None else self.session.state.findings.of(node.id)
        return findings[0].action if findings else None

    def action_hints(self) -> list[Hint]:
        """Return a hint for each action, the suggested one first.

        The unavailable ones are last and have a reason.
        """
        node = self.subject()
        reader = self.session.reader(node.id) if node else None
        if node is None or reader is None:
            return []
        suggested, hints = self.suggested(), list[tuple[bool, bool, Hint]]()
        for key, action in self.actions():
            available = reader.availability(action, node)
            why, best = "" if available.ok else available.why, action.name == suggested
            hints.append((bool(why), not best, Hint(key=key, title=action.title, why=why, best=best, press=key)))
        ordered = sorted(hints, key=lambda each: each[:2])
        return [msgspec.structs.replace(hint, rank=rank) for rank, (_, _, hint) in enumerate(ordered)]

    def help_context(self) -> HelpContext:
        """Return what help explains first."""
        text = text_of(self)
        line = next((line for line in text.splitlines() if line.startswith(("▌", ">"))), "")
        refused = tuple((f"{hint.key} {hint.title}", hint.why) for hint in self.action_hints() if hint.why)
        return HelpContext(text=text, line=line, engine=self.label() or "", refused=refused)

    def helps(self) -> Callable[[Finding], str]:
        """Return a function to name the action of a finding: ``W Wake``."""
        shown = {action.name: f"{key} {action.title}" for key, action in self.actions()}
        return lambda finding: shown.get(finding.action or "", finding.action or "")

    def action_copy(self) -> None:
        """Offer what can be copied of the marked nodes, or of the node under the cursor."""
        from console.tui.screens.copy import CopyDialog

        choices = self.copies()
        if choices:
            self.app.push_screen(CopyDialog(choices))
        else:
            self.say("There is nothing here to copy from.", "warn")

    def action_undo(self) -> None:
        self.host.action_undo()

    def copies(self) -> list[CopyChoice]:
        """Return what can be copied."""
        from console.tui.screens.copy import choices

        nodes = self.targets() or [node for node in (self.cursor(),) if node]
        return choices(self.session, nodes) if nodes else []

    def _renew_engines(self) -> None:
        label = self.label()
        front = next((place for place, each in enumerate(self.session.engines) if each == label), -1)
        self._engines_bar.show(EngineLines(lines=self.engine_lines({label}), front=front, ascii=self.host.ascii))

    def engine_lines(self, flowing: Collection[str | None]) -> tuple[EngineLine, ...]:
        """Return the numbers of each engine. ``flowing``: labels of those with bars."""
        state = self.session.state
        stale_engines, more, findings = state.stale_engines, state.more, state.findings
        counters = self.session.workspace and self.session.workspace.server_findings.counters
        return tuple(
            EngineLine(
                label=label,
                name=_name(label, reader.engine),
                counts=state.counts(label),
                stuck=findings.severities.get(label, ()) if state.findings_loaded else None,
                more_stuck=label in more,
                oldest="" if (since := findings.oldest.get(label)) is None else formatting.age(state.at - since),
                flow=flow(reader, counters, self.host.ascii) if counters and label in flowing else "",
                rates=counters.rates(label, reader.engine.spec.deletes) if counters else None,
                stale=label in stale_engines,
                policies=bool(reader.detected.policies),
            )
            for label, reader in self.session.engines.items()
        )

    def _header(self) -> Header:
        session, context = self.session, self.host.context
        workspace = session.workspace
        server = workspace.server if workspace else None
        production = self.host.production
        live, age, timer = session.link is ConnectionState.LIVE, self.data_age, session.timer
        late = is_late(age, timer.interval)
        oldest = None if age is None else max(age, self.rows_age)
        return Header(
            context=context.name if context else "",
            color=theme.context_color(context.color if context else "", production=bool(production))
            if context or production
            else "",
            production=production,
            server=self.host.where.text.removeprefix(f"@{context.name}  " if context else "") if server else "",
            behind=formatting.behind(server, short=True) if server else "",
            superuser=bool(production and server and server.superuser),
            unencrypted=bool(production and server and not server.encrypted and not server.local),
            engines=_engines(self.engine, workspace) if workspace else "",
            read_only=_read_only(workspace) if workspace else "",
            link=session.link,
            retry=0.0 if live else session.retry_in,
            paused=session.paused,
            screen_failed=bool(session.list_error),
            critical=self._critical(),
            age=old(None if oldest is None else oldest + ((server and server.lag) or 0.0), exact=late or not live),
            late=late,
            interval=timer.interval,
            pace=0.0 if is_late(age, timer.pace) else timer.pace,
        )

    @property
    def data_age(self) -> float | None:
        """Seconds since what the screen shows was read; None before that."""
        return self.session.state.age

    @property
    def rows_age(self) -> float:
        """Seconds since the oldest row in view was read; 0 if that is not known."""
        state, at = self.session.state, self.rows_at()
        return 0.0 if at is None else max(state.at + (state.age or 0.0) - at, 0.0)

    def rows_at(self) -> float | None:
        """Return the server time of the oldest row in view; None if it is not known."""
        return None

    def _critical(self) -> int | None:
        if not (self.session.state.findings_loaded and self.session.engines):
            return None
        return sum(severity.band(each.severity) is severity.BANDS[0] for each in self.session.state.shown.incidents)


def _name(label: str, engine: Engine) -> str:
    what = "own" if engine.origin else "guess" if engine.guess else ""
    variant = "" if label.endswith(f"@{engine.variant}") else engine.variant
    notes = ", ".join(filter(None, (what, variant)))
    return f"{formatting.engine_label(label)} ({notes})" if notes else formatting.engine_label(label)


def _engines(engine: Engine | None, workspace: Workspace) -> str:
    """Return the header's note about engines outside of the package, or "".

    It says if the engine in front is one, and how many folders are not used.
    """
    parts = []
    if engine is not None and engine.origin:
        parts.append("own engine, not checked: no actions" if engine.unproven else "own engine")
    if engine is not None and engine.guess:
        parts.append("a guess, only read (?), d hides it")
    if newer := [each.label for each in workspace.engines.values() if each.detected.newer]:
        parts.append(f"{', '.join(newer)} newer than this release (?)")
    if broken := len(workspace.broken):
        parts.append(f"{broken} engine{'s' * (broken > 1)} not used (?)")
    return "  ".join(parts)


def _read_only(workspace: Workspace) -> str:
    """Return why the console changes nothing, in a few words.

    A standby has its own word in the header.
    """
    if workspace.read_only:
        return f"read-only ({workspace.rules.read_only})" if workspace.rules.read_only else "read-only"
    server, database = workspace.server, workspace.database
    return "read-only: server default" if server.read_only and not database.override_read_only else ""
