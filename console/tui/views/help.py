"""Lines of the help screen, generated from the key tables and the engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from console.model.fields import audit_entry, change, dead_letter, hit, incident, node
from console.model.fields.field import Field
from console.model.session import Session
from console.text import formatting
from console.text.arguments import arguments
from console.text.glossary import words_in
from console.text.severity import band, marked
from console.text.spans import Spans
from console.text.views.lines import BLANK, command_lines, heading, pairs, plain, wrapped
from console.tui import keymap
from console.tui.help_context import HelpContext
from console.tui.keymap import Keys
from queries.contract.spec import Action, FindingSpec
from queries.read.findings import FINDING_NODES
from queries.read.reader import Reader
from queries.read.sentence import without_values
from queries.records.action import Proof
from queries.records.finding import SkippedFinding
from queries.records.node import Phase

OPENING = (
    "Lower-case keys only read, and so does H; other upper-case keys change the database. Every change starts with a "
    "dry run: the action's SQL runs in a transaction that is rolled back, and you see each row before and after. "
    "Nothing is committed until you confirm it."
)
FILTER = (
    ("failed mail", f"both words, in any of {', '.join(field.name for field in node.FIELDS if field.searched)}"),
    ("status:blocked", "prefix; status:=blocked matches the whole word; phase:failed,held matches either"),
    ("age:>2h  idle:<30s", "durations: us ms s m h d w, also 1h30m"),
    ("revision:>100", "numbers: > >= < <= ="),
    ("payload.customer.id:42", "a value in a stored JSON text, below these keys"),
    ("finding:any", "any: has a value; none: has none"),
    ("!phase:done", "negated"),
)

FILTERS: Mapping[str, Iterable[Field[Any]]] = {
    "Filter of incidents": incident.FIELDS,
    "Filter of dead letters": dead_letter.FIELDS,
    "Filter of the audit log": audit_entry.FIELDS,
    "Filter of changes": change.FIELDS,
    "Filter of hits": hit.FIELDS,
}
HEADER = (
    (
        "in ▁▃█ 0..30 /min",
        "new work of each of ten minutes, estimated from the server's counters; a gap is not known",
    ),
    ("out, fail", "finished work, and what the engine's history says failed; nothing where neither was recorded"),
    ("3 critical incidents", "causes of severity 8 or 9 in all engines; each may keep many nodes from going on"),
    ("‼3 !8 ·12  23 stuck", "stuck nodes: critical (severity 8 and 9), major (5 to 7), minor (below), and all"),
    ("12  ≈1.2M  10k+  ?", "a number that is exact, estimated, at least that, not recorded"),
    ("≥2d  ≤5s", "a time ago that is at least or at most that, because not all were read"),
)

CUT = f"Only the first {FINDING_NODES} findings of these kinds are read. `unstick stuck --limit` shows more."


def help_lines(width: int, context: HelpContext, keys: Keys, session: Session) -> list[Spans]:
    """Return the help screen for the engines of this database.

    ``view`` is explained first.
    """
    engines = session.engines.values()
    lines: list[Spans] = []
    for each in (reader for reader in engines if reader.engine.guess):
        lines += [heading(f"{each.label}: a guess"), *wrapped(each.engine.guess, width)]
        lines += [*wrapped(f"{each.engine.unproven}.", width), BLANK]
    lines += [*_of_context(context, engines, width), *wrapped(OPENING, width, indent=0), BLANK]
    for where, table in keymap.TABLES.items():
        lines += [heading(f"Keys {where}")]
        lines += pairs([(keys.all_shown(key), key.about) for key in table], width)
        lines.append(BLANK)
    lines += [heading("Filter"), *pairs([*FILTER, *_filtered(node.FIELDS)], width), BLANK, *_filters(width)]
    lines += [heading("Header"), *pairs(HEADER, width), BLANK]
    lines += [heading("Phases"), *(_phase(phase) for phase in Phase), BLANK]
    for reader in engines:
        skipped = [part for part in session.state.shown.skipped_findings if part.engine == reader.label]
        lines += _engine(reader, width, keys, skipped)
        if cut := [code for label, code in session.state.shown.capped if label == reader.label]:
            lines += [heading(f"{reader.label}: more is stuck than shown"), *wrapped(CUT, width)]
            lines += [*wrapped(", ".join(cut), width), BLANK]
    for other in session.workspace.declined_alike if session.workspace else ():
        lines += [heading(other.engine, f"not shown: in {other.schema}"), *wrapped(other.why, width), BLANK]
    for folder in session.workspace.broken if session.workspace else ():
        lines += [heading(folder.name, "not used")]
        lines += [line for fault in folder.why.splitlines() for line in wrapped(fault, width)] + [BLANK]
    return lines


def _of_context(context: HelpContext, engines: Iterable[Reader], width: int) -> list[Spans]:
    spec = next((reader.engine.spec for reader in engines if reader.label == context.engine), None)
    lines: list[Spans] = []
    for finding in spec.findings if spec else ():
        lines += _finding(finding, width) if f" {finding.title} " in context.line else []
    statuses = [(s.native, s.means) for s in spec.statuses if f" {s.native} " in context.line] if spec else []
    lines += pairs(statuses, width)
    lines = [heading("The row"), *lines, BLANK] if lines else []
    if context.refused:
        lines += [heading("Actions that are not possible there"), *pairs(context.refused, width), BLANK]
    columns = dict(context.columns)
    words = [*context.columns, *(word for word in words_in(context.text) if word[0] not in columns)]
    return [*lines, heading("Words of the screen"), *pairs(words, width), BLANK] if words else lines


def _filtered(fields: Iterable[Field[Any]]) -> list[tuple[str, str]]:
    return [(f"{field.name}:", field.about) for field in fields if field.form is not None]


def _filters(width: int) -> list[Spans]:
    lines: list[Spans] = []
    nodes = _filtered(node.FIELDS)
    for title, fields in FILTERS.items():
        about = _filtered(fields)
        names = " ".join(name for name, text in about if (name, text) in nodes)
        own = [each for each in about if each not in nodes]
        lines += [heading(title), *pairs([*own, *([("as above", names)] if names else [])], width), BLANK]
    return lines


def _phase(phase: Phase) -> Spans:
    return [("  ", ""), (f"{formatting.GLYPHS[phase]} {phase.value}", f"$phase-{phase}")]


def _engine(reader: Reader, width: int, keys: Keys, skipped_findings: list[SkippedFinding]) -> list[Spans]:
    spec = reader.engine.spec
    lines = [
        heading(reader.label, f"{spec.title}, in schema {reader.detected.schema}"),
        *wrapped(spec.about, width),
        *(line for note in reader.variant.notes for line in wrapped(note, width, "bold")),
        *(wrapped(f"Dead letters: {spec.dead}.", width) if spec.dead else []),
        BLANK,
    ]
    lines += [heading(f"{reader.label}: actions")]
    for action in reader.engine.actions_here:
        lines += [*_action(action, keys.of_action(action.name) or action.key, width), BLANK]
    lines += [heading(f"{reader.label}: statuses")]
    lines += pairs([(f"{s.native} ({s.phase})", s.means) for s in spec.statuses], width)
    lines += [BLANK, heading(f"{reader.label}: what can be stuck")]
    for finding in spec.findings:
        lines += _finding(finding, width)
    if skipped_findings:
        lines += [BLANK, heading(f"{reader.label}: what is not checked here")]
        for part in skipped_findings:
            lines += wrapped(f"{part.code}: {part.why}", width)
            lines += [plain(part.ddl, "bold", 4)] if part.ddl else []
    return [*lines, BLANK]


def _action(action: Action, key: str, width: int) -> list[Spans]:
    marks = [action.support.value] if action.writes else [f"{action.support.value}: not possible in unstick"]
    marks += ["behaviour inferred"] if action.writes and action.proof is Proof.ASSUMED else []
    marks += [f"risk: {action.risk.value}"] if action.writes else []
    head = [
        ("  ", ""),
        (key, "bold $accent" if action.writes else "$faint"),
        (" ", ""),
        (action.title, "bold" if action.writes else "$faint"),
        (f"  {', '.join(action.kinds)}  ", ""),
        (" · ".join(marks), "$faint"),
    ]
    lines = [head]
    for text in (action.effect, action.next):
        lines += wrapped(text, width, "", 4) if text else []
    for word, meaning in arguments(action):
        lines += wrapped(f"{word}: {meaning}", width, "$faint", 4)
    lines += wrapped(f"{action.support}: {action.why}", width, "$faint", 4) if action.why else []
    return [*lines, *command_lines(action.command, 4)]


def _finding(finding: FindingSpec, width: int) -> list[Spans]:
    sure = "inferred" if finding.proof is Proof.ASSUMED else "verified"
    helps = f", suggested action: {finding.action}" if finding.action else ""
    ink = band(finding.severity).ink
    head = [(f"{finding.title}  ", ink), *marked(finding.severity), (f"  {finding.code}, {sure}{helps}", "$faint")]
    return [[("  ", ""), *head], *wrapped(without_values(finding.one), width, "", 4)]
