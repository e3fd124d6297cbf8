"""The keys as data, without Textual: bindings, footer, palette and help are all drawn from these tables.

Lower-case keys look; upper-case keys change the database, and those come from the systems' verbs. Every key has an id,
by which the settings file gives it other keys: ``[keys]  "tree.live" = "f5"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from queries.contract.spec import Verb
from queries.model import Record


class Key(Record, kw_only=False):
    """``rank`` is the place in the footer, 0 for none; ``title`` is short, ``about`` a sentence."""

    id: str
    keys: str
    action: str
    title: str
    about: str
    rank: int = 0
    always: bool = False  # before any field or dialog gets to see it


APP = (
    Key("mode.tree", "1,t", "app.show_mode('tree')", "tree", "Jobs and tasks as a tree"),
    Key("mode.stuck", "2,s", "app.show_mode('stuck')", "stuck", "What is stuck in all systems, worst first"),
    Key("mode.dead", "3,d", "app.show_mode('dead')", "dead letters", "What engines gave up on, by what it died of"),
    Key("mode.ledger", "4,g", "app.show_mode('ledger')", "ledger", "Who changed what, when, why"),
    Key("mode.help", "question_mark,f1", "app.show_mode('help')", "help", "Keys, verbs, statuses, findings", 2),
    Key("refresh", "r,f5", "app.refresh_now", "refresh", "Look at the database now", 70),
    Key("pause", "p", "app.pause", "pause", "Stop looking at the database, or go on", 71),
    Key("interval.up", "plus,equals_sign", "app.slower", "slower", "Look at the database less often"),
    Key("interval.down", "minus", "app.faster", "faster", "Look at the database more often"),
    Key("palette", "ctrl+p,colon", "app.command_palette", "commands", "Find a command by its words", 80),
    Key("quit", "q", "app.leave", "quit", "Leave", 3),
    Key("quit.anywhere", "ctrl+q,ctrl+c", "app.leave", "quit", "Leave, also from a field or a dialog", always=True),
)

NODE = (Key("node.copy", "y", "screen.copy", "copy", "Copy its id, its row as JSON, or a verb's SQL", 40),)

# The lists bind these themselves; they stand here for the footer and the help page.
LIST = (
    Key("table.open", "enter", "", "open", "Everything about the node, or the next page", 5),
    Key("table.mark", "space", "", "mark", "Mark the node, or take its mark away", 30),
    Key("table.up", "up,k", "", "up", "The row above"),
    Key("table.down", "down,j", "", "down", "The row below"),
    Key("table.unfold", "right", "", "unfold", "Show what is below; where it is shown, go there"),
    Key("table.fold", "left", "", "fold", "Hide what is below; where it is hidden, go up"),
    Key("table.unfold_all", "e", "", "unfold all", "Show everything below that is loaded"),
    Key("table.page_up", "pageup,ctrl+b", "", "page up", "One screen up"),
    Key("table.page_down", "pagedown,ctrl+f", "", "page down", "One screen down"),
    Key("table.first", "home", "", "first", "The first row"),
    Key("table.last", "end", "", "last", "The last row read so far"),
)

TREE = (
    Key("tree.filter", "slash", "screen.filter", "filter", "Narrow what is shown: words and field:value", 10),
    Key("tree.live", "l", "screen.live", "live list", "Everything unfinished as one list, most urgent first", 20),
    Key("tree.find", "f", "screen.find", "find", "Find nodes in the database by id or text", 15),
    Key("tree.mark_all", "asterisk", "screen.mark_all", "mark all", "Mark everything the filter shows, or nothing", 31),
    Key("tree.system", "tab", "screen.step_system(1)", "system", "The next system", 12),
    Key("tree.system_before", "shift+tab", "screen.step_system(-1)", "system before", "The system before"),
    Key("tree.view", "v", "screen.next_view", "group", "Group the same tree otherwise, where the system can", 45),
    Key("tree.back", "escape", "screen.back", "back", "Leave the filter, the list or the marks"),
    *NODE,
)

STUCK = (
    Key("stuck.open", "enter", "screen.open", "open", "Everything about the node", 5),
    Key("stuck.reveal", "o", "screen.reveal", "show in tree", "The node in its tree", 20),
    *NODE,
)

DEAD = (
    Key("dead.open", "enter", "screen.open", "open", "Everything about the letter; of a group, its letters", 5),
    Key("dead.unfold", "right", "screen.unfold", "unfold", "Show the letters of a group"),
    Key("dead.fold", "left", "screen.fold", "fold", "Hide them"),
    Key("dead.mark", "space", "screen.mark", "mark", "Mark a letter or a whole group, or take the marks away", 30),
    Key("dead.reveal", "o", "screen.reveal", "show in tree", "The letter's task in its tree", 20),
    Key("dead.more", "m", "screen.more", "more letters", "Read on in the letters of the system", 25),
    Key("dead.back", "escape", "screen.back", "back", "Take all marks away"),
    *NODE,
)

LEDGER = (Key("ledger.open", "enter", "screen.open", "open", "The rows before and after", 5),)

DETAIL = (
    Key("detail.back", "escape,backspace", "screen.back", "back", "To where you came from", 1),
    Key("detail.more", "m", "screen.more", "more bytes", "Fetch more of the stored bytes", 20),
    Key("detail.reveal", "o", "screen.reveal", "show in tree", "The node in its tree", 25),
    *NODE,
)

ENTRY = (Key("entry.back", "escape,backspace", "screen.back", "back", "To the ledger", 1),)

TABLES: Mapping[str, tuple[Key, ...]] = {
    "everywhere": APP,
    "in the lists": LIST,
    "in the tree": TREE,
    "in what is stuck": STUCK,
    "in the dead letters": DEAD,
    "in the detail page": DETAIL,
    "in the ledger": LEDGER,
    "in a ledger entry": ENTRY,
}


FIELDS = ("tree.filter", "tree.find")  # keys after which text is typed


def verb_id(name: str) -> str:
    """The id of a verb's key in the settings."""
    return f"verb.{name}"


def ids(verbs: Iterable[Verb]) -> set[str]:
    """Every id that the settings may name."""
    return {key.id for table in TABLES.values() for key in table} | {verb_id(verb.name) for verb in verbs}


def verb_keys(verbs: Iterable[Verb], remapped: Mapping[str, str]) -> dict[str, set[str]]:
    """Key -> names of the verbs it stands for: two systems may use a key for different verbs."""
    found: dict[str, set[str]] = {}
    for verb in verbs:
        for key in filter(None, map(str.strip, remapped.get(verb_id(verb.name), verb.key).split(","))):
            found.setdefault(key, set()).add(verb.name)
    return found


@cache
def shown(key: str) -> str:
    """The first of a binding's keys as it stands on the keyboard."""
    first = key.partition(",")[0].strip()
    return _GLYPHS.get(first, first.replace("ctrl+", "^"))


def all_shown(key: str) -> str:
    """All of a binding's keys."""
    return " ".join(dict.fromkeys(shown(part) for part in key.split(",")))


_GLYPHS = {
    "question_mark": "?",
    "slash": "/",
    "asterisk": "*",
    "plus": "+",
    "minus": "-",
    "colon": ":",
    "escape": "esc",
    "backspace": "⌫",
    "equals_sign": "=",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
