"""Key tables as data: bindings, footer, palette and help are generated from them.

Lower-case keys and H change nothing. Upper-case keys change the database; they come from the engines' actions, except U
and those that signal a session. Every key has an id, by which the settings file gives it other keys:
``[keys]  "tree.live" = "f5"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from queries.contract.spec import Action
from queries.records.record import Record


class Key(Record, kw_only=False):
    """Key binding.

    ``rank`` is the place in the footer, 0 for none; ``title`` is short, ``about`` a sentence.
    """

    id: str
    keys: str
    handler: str
    title: str
    about: str
    rank: int = 0
    always: bool = False  # before any field or dialog gets to see it


PALETTE = Key("palette", "ctrl+p,colon", "app.command_palette", "commands", "Command palette", 80)
APP = (
    Key("mode.tree", "1", "app.show_mode('tree')", "tree", "Jobs and tasks as a tree"),
    Key("mode.stuck", "2", "app.show_mode('stuck')", "now", "What is wrong now in all engines, worst first"),
    Key("mode.dead", "3", "app.show_mode('dead')", "dead letters", "Tasks that engines gave up on, grouped by error"),
    Key("mode.audit", "4", "app.show_mode('audit')", "audit log", "Who changed what, when, why"),
    Key("mode.changed", "5", "app.show_mode('changed')", "changed", "What engines and operators changed lately", 60),
    Key("mode.help", "question_mark,f1", "app.show_mode('help')", "help", "Words in view, keys, actions, statuses", 2),
    Key("find", "f", "app.find", "find", "Find nodes of all engines by an id, a text with ids, or part of a text", 15),
    Key("queues", "6", "app.queues", "queues", "Queues of all engines; where the engine can, pause and resume"),
    Key("undo", "U", "screen.undo", "undo", "Undo your last change, or the entry of the audit log that is chosen", 36),
    Key("shift", "H", "app.hand_over", "hand over", "Copy what is open, what was done, and what is stuck again"),
    Key("history.back", "left_square_bracket,alt+left", "app.go(-1)", "back", "Back to the screen before"),
    Key("history.forward", "right_square_bracket,alt+right", "app.go(1)", "forward", "Forward again"),
    Key("pins.next", "apostrophe", "app.next_pin", "next pin", "The next pinned node in its tree, changed ones first"),
    Key("refresh", "r,f5", "app.refresh_now", "refresh", "Refresh now", 70),
    Key("pause", "p", "app.pause", "pause", "Pause or resume refreshing", 71),
    Key("times", "z", "app.times", "times", "Times relative, in UTC, or in the local zone", 72),
    Key("lines", "ctrl+e", "app.toggle_class('.around', '-off')", "fewer lines", "Hide engines, tabs and news, or not"),
    Key("interval.up", "plus,equals_sign", "app.pick_interval(1)", "slower", "Refresh less often"),
    Key("interval.down", "minus", "app.pick_interval(-1)", "faster", "Refresh more often"),
    PALETTE,
    Key("suspend", "ctrl+z", "app.suspend_process", "suspend", "Go to the shell; fg comes back", always=True),
    Key("quit", "q", "app.quit", "quit", "Quit", 3),
    Key("quit.anywhere", "ctrl+q,ctrl+c", "app.quit", "quit", "Quit, also from a field or a dialog", always=True),
)
MODES = tuple(key for key in APP if key.id.startswith("mode."))
"""Keys of the modes, each named by its id."""
OPENERS = tuple(key for key in APP if key.id.startswith(("mode.", "find", "queues", "shift", "history.", "palette")))
"""Keys that open something to read. They also close the result of an action."""

NODE = (
    Key("node.copy", "y", "screen.copy", "copy", "Copy its id, row, an action's SQL, or marked nodes as Markdown", 40),
    Key("node.blockers", "x", "app.blockers", "blockers", "Who locks its rows, and who waits for whom", 35),
    Key("node.pin", "b", "app.pin", "pin", "Pin the node, or not: the terminal rings when its status changes"),
    Key("node.commands", "c", "app.own_commands", "own commands", "Run a command of your settings on the node"),
    Key("node.try", "t", "app.try_node", "try", "Try a worker's next statement on it, and roll it back"),
)

LIST = (  # bound by the widget of every list
    Key("table.up", "up,k", "move(-1)", "up", "The row above"),
    Key("table.down", "down,j", "move(1)", "down", "The row below"),
    Key("table.page_up", "pageup,ctrl+b", "screenful(-1)", "page up", "One screen up"),
    Key("table.page_down", "pagedown,ctrl+f", "screenful(1)", "page down", "One screen down"),
    Key("table.first", "home", "edge(-1)", "first", "The first row"),
    Key("table.last", "end", "edge(1)", "last", "The last row; there it loads more"),
)

TEXT = (
    Key("text.up", "up,k", "by(-1)", "up", "One line up"),
    Key("text.down", "down,j", "by(1)", "down", "One line down"),
    Key("text.page_up", "pageup", "screenful(-1)", "page up", "One screen up"),
    Key("text.page_down", "pagedown,space", "screenful(1)", "page down", "One screen down"),
    Key("text.first", "home", "edge(-1)", "top", "The first line"),
    Key("text.last", "end", "edge(1)", "bottom", "The last line"),
)

FILTER_LINE = (
    Key("filter.clear", "escape", "leave", "clear", "Clear the filter"),
    Key("filter.before", "up", "before", "before", "The filter that was kept before this one"),
    Key("filter.keep", "down", "keep", "to the list", "Keep the filter and go to the list"),
    Key("filter.save", "ctrl+s", "save", "save", "Save the filter in your settings: @name is the filter"),
    Key("filter.complete", "tab", "cursor_right", "complete", "Take the field or value that is suggested in grey"),
)

CHECKBOX = (Key("checkbox.switch", "space", "switch", "switch", "Turn the checkbox on or off"),)

ROWS = (  # bound by the screen of every list
    Key("rows.open", "enter", "screen.open", "open", "Everything about the row, its group, or the next rows", 5),
    Key("rows.filter", "slash", "screen.filter", "filter", "Show the rows that match: words and field:value", 10),
    Key("rows.mark", "space", "screen.mark", "mark", "Mark or unmark the row or its group, and go on", 30),
    Key("rows.mark_all", "asterisk", "screen.mark_all", "mark all", "Mark all rows that match, or clear the marks", 31),
    Key("rows.mark_down", "shift+down", "screen.mark_range(1)", "mark down", "Mark this row and the row below"),
    Key("rows.mark_up", "shift+up", "screen.mark_range(-1)", "mark up", "Mark this row and the row above"),
    Key("rows.sort", "s", "screen.sort", "sort", "Sort by the next column; the mouse sorts by a heading", 33),
    Key("rows.reverse", "i", "screen.reverse", "reverse", "Sort the other way round"),
    Key("rows.group", "g", "screen.group", "group", "Group by the next of cause, engine, kind, payload ...", 34),
    Key("rows.unfold", "right", "screen.unfold", "unfold", "Show the rows of a group, or the children", 11),
    Key("rows.fold", "left", "screen.fold", "fold", "Hide the rows of the group, or the children"),
    Key("rows.fold_all", "e", "screen.fold_all", "unfold all", "Show what is below all rows, or hide it"),
    Key("rows.maximise", "v", "screen.maximise", "whole preview", "All about the row on the whole screen, or the list"),
    Key("rows.engines", "tab", "app.engines", "engines", "All engines with their numbers and rates", 12),
    Key("rows.back", "escape", "screen.back", "back", "Clear the filter or the marks, or leave the list"),
)

TREE = (
    Key("tree.live", "l", "screen.live", "live list", "Everything unfinished as one list, most urgent first", 20),
    Key("tree.no_work", "d", "screen.hide_guess", "no work", "Hide the table of a guess: it holds no work"),
    Key("tree.engine", "greater_than_sign", "screen.step_system(1)", "next engine", "The next engine"),
    Key("tree.engine_before", "less_than_sign", "screen.step_system(-1)", "previous engine", "The previous engine"),
    *NODE,
)

STUCK = (
    Key("stuck.news", "n", "screen.next_news", "next new", "The next incident that is new or grows", 24),
    Key("stuck.more", "m", "screen.more", "older ones", "Show what is unchanged for an hour, or fold it", 25),
    Key("stuck.reveal", "o", "screen.reveal", "show in tree", "The node in its tree", 20),
    Key("stuck.end", "E", "screen.end_session", "end session", "End the session that is the cause", 9),
    *NODE,
)

DEAD = (
    Key("dead.reveal", "o", "screen.reveal", "show in tree", "The dead letter's task in its tree", 20),
    Key("dead.redrive", "S", "screen.redrive", "redrive", "Revive in growing cohorts, and stop if they fail again", 22),
    *NODE,
)

CHANGED = (
    Key("changed.more", "m", "screen.more", "polls", "Show polls, heartbeats, locks and due times, or hide them", 25),
    Key("changed.scan", "w", "screen.scan", "scan", "Read what needs a scan of a table; its cost is shown first", 26),
    Key("changed.reveal", "o", "screen.reveal", "show in tree", "The node in its tree", 20),
    *NODE,
)

FOUND = (
    Key("found.reveal", "o", "screen.reveal", "show in tree", "The node in its tree", 20),
    Key("found.large", "m", "screen.more", "large values", "Search values of more than 64 kB, too", 25),
    Key("found.leave", "backspace", "screen.dismiss", "back", "Back to the previous screen; escape does it, too", 1),
    *NODE,
)

SEARCH = Key("text.search", "slash", "screen.search", "search", "Show the entries of the screen with a text", 10)

HELP = (
    SEARCH,
    Key("help.back", "escape,backspace", "screen.back", "back", "Show the whole help again, or the screen before", 1),
)

AUDIT_LOG = (Key("audit.copy", "y", "screen.copy", "copy", "Copy the entries as Markdown or JSON", 40),)

DETAIL = (
    Key("detail.link", "tab", "screen.link(1)", "next id", "The next id on the screen that can be opened", 6),
    Key("detail.link_before", "shift+tab", "screen.link(-1)", "previous id", "The previous id on the screen"),
    Key("detail.follow", "enter", "screen.follow", "open id", "Open the chosen id: parent, child, owner, blocker", 7),
    Key("detail.back", "escape,backspace", "screen.back", "back", "Back to the previous screen", 1),
    SEARCH,
    Key("detail.more", "m", "screen.more", "more bytes", "Fetch more of the stored bytes", 20),
    Key("detail.reveal", "o", "screen.reveal", "show in tree", "The node in its tree", 25),
    *NODE,
)

BLOCKERS = (
    Key("blockers.back", "escape,backspace", "screen.back", "back", "Back to the previous screen", 1),
    Key("blockers.link", "tab", "screen.link(1)", "next session", "Choose the next session", 6),
    Key("blockers.link_before", "shift+tab", "screen.link(-1)", "previous session", "Choose the previous session"),
    Key("blockers.end", "E", "screen.signal('end_session')", "end session", "End the chosen session, or the root", 10),
    SEARCH,
    Key("blockers.cancel", "K", "screen.signal('cancel_query')", "cancel query", "Cancel its statement", 11),
)

ENTRY = (Key("entry.back", "escape,backspace", "screen.back", "back", "Back to the list", 1), SEARCH)

DIALOG = (Key("dialog.leave", "escape", "screen.leave", "close", "Close the dialog without a change"),)

INPUT = (Key("input.done", "enter", "", "done", "Leave the fields; it changes nothing"),)  # bound by the input line

CONFIRM = (
    Key("confirm.rows", "enter,i", "screen.part('rows')", "rows", "Show the rows before and after, or hide them"),
    Key("confirm.radius", "b", "screen.part('radius')", "blast radius", "Show which other nodes it reaches"),
    Key("confirm.sql", "s", "screen.part('sql')", "SQL", "Show the statements of the action"),
    Key("confirm.edit", "e", "screen.edit", "edit", "Back to the reason and the arguments"),
    Key("confirm.again", "r", "screen.again", "repeat", "Repeat the dry run on the current rows"),
    Key("confirm.wait", "w", "screen.wait", "wait for locked nodes", "Wait for locked nodes, or skip them again"),
    SEARCH,
    Key("confirm.log", "l", "screen.log", "audit log", "Show where the change is recorded, and offer the table"),
)

AUDIT_TABLE = (
    Key("table.create", "T", "screen.create", "create the table", "Create the audit log table in this database"),
    Key("table.copy", "y", "screen.copy", "copy", "Copy the statements, or the command for the owner"),
)

RESULT = (
    Key("result.stop", "s", "screen.stop", "stop", "Stop after the current step, or stop watching. A redrive ends"),
    Key("result.go_on", "g", "screen.go_on", "go on", "Answer the question of a redrive with go on, or resume"),
    Key("result.undo", "U", "screen.undo", "undo", "Undo what was changed"),
    Key("result.again", "r", "screen.again", "try again", "Repeat the dry run if the connection was lost too early"),
    SEARCH,
)

EDITED = (Key("edited.again", "enter", "screen.accept", "edit it again", "Open the editor again with the same text"),)

COPY = (
    Key("copy.copy", "enter", "screen.copy", "copy", "Copy to the clipboard"),
    Key("copy.save", "f", "screen.save", "write to a file", "Write the text to a file"),
)

SCAN = (Key("scan.copy", "y", "screen.copy", "copy the DDL", "Copy the DDL of the index that would avoid the scan"),)

TRY = (Key("try.run", "t", "screen.run", "try it", "Run the statements as this role, and roll them back"),)

OWN_COMMANDS = (
    Key("commands.run", "enter", "screen.run", "run", "Run the command with these arguments, without a shell"),
)

PROMPT = (Key("prompt.submit", "enter", "", "continue", "Use the typed text"),)  # bound by the input line

TABLES: Mapping[str, tuple[Key, ...]] = {
    "everywhere": APP,
    "in all lists": (*LIST, *ROWS),
    "in texts": TEXT,
    "in the help": HELP,
    "in the filter line": FILTER_LINE,
    "in checkboxes": CHECKBOX,
    "in the tree": TREE,
    "in the list of what is wrong now": STUCK,
    "in the dead letters": DEAD,
    "in the changes": CHANGED,
    "in the search results": FOUND,
    "in the audit log": AUDIT_LOG,
    "in the detail screen": DETAIL,
    "in the blockers screen": BLOCKERS,
    "in an audit log entry": ENTRY,
    "in every dialog": DIALOG,
    "in the input of an action": INPUT,
    "in the confirmation of an action": CONFIRM,
    "in the offer of the audit log table": AUDIT_TABLE,
    "in the result of an action": RESULT,
    "after an edit that cannot be stored": EDITED,
    "in the copy dialog": COPY,
    "before a scan": SCAN,
    "before a try": TRY,
    "before a command of yours": OWN_COMMANDS,
    "in a prompt": PROMPT,
}

BY_ID: Mapping[str, Key] = {key.id: key for table in TABLES.values() for key in table}


class Keys:
    """The keys of the tables and of the actions, as the settings bind them."""

    def __init__(self, actions: Iterable[Action], remapped: Mapping[str, str]) -> None:
        """``remapped``: the keys of the settings, by id."""
        self._remapped = remapped
        self.actions = action_keys(actions, remapped)
        """Key -> names of the actions it runs; engines may use one key for different actions."""
        self.openers = {name: key for key in OPENERS for name in self.names(key)}
        """Keys that open something to read on every screen."""
        self.always = {name for key in APP if key.always for name in self.names(key)}
        """Keys that no field and no dialog gets."""

    def names(self, key: Key) -> list[str]:
        """Return the names of a binding's keys."""
        return split(self._remapped.get(key.id, key.keys))

    def shown(self, key: Key) -> str:
        """Return the first key of a binding as printed on the keyboard, or ""."""
        return next(map(shown, self.names(key)), "")

    def all_shown(self, key: Key) -> str:
        """Return all keys of a binding as printed on the keyboard."""
        return " ".join(dict.fromkeys(map(shown, self.names(key))))

    def of_action(self, name: str) -> str:
        """Return the first key of an action, or ""."""
        return next((key for key, names in self.actions.items() if name in names), "")


def action_id(name: str) -> str:
    """The id of an action's key in the settings."""
    return f"action.{name}"


def ids(actions: Iterable[Action]) -> set[str]:
    """Every id that the settings may name."""
    return {*BY_ID} | {action_id(action.name) for action in actions}


def action_keys(actions: Iterable[Action], remapped: Mapping[str, str]) -> dict[str, set[str]]:
    """Map of key to action names: two engines may use a key for different actions."""
    names_by_key: dict[str, set[str]] = {}
    for action in actions:
        for key in split(remapped.get(action_id(action.name), action.key)):
            names_by_key.setdefault(key, set()).add(action.name)
    return names_by_key


def split(keys: str) -> list[str]:
    """Return the single keys of a binding such as ``ctrl+q,ctrl+c``."""
    return list(filter(None, map(str.strip, keys.split(","))))


@cache
def shown(key: str) -> str:
    """Return the first of a binding's keys, as printed on the keyboard."""
    first = key.partition(",")[0].strip()
    return _GLYPHS.get(first, first.replace("ctrl+", "^"))


_GLYPHS = {
    "question_mark": "?",
    "slash": "/",
    "asterisk": "*",
    "apostrophe": "'",
    "plus": "+",
    "minus": "-",
    "colon": ":",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "escape": "esc",
    "backspace": "⌫",
    "equals_sign": "=",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
