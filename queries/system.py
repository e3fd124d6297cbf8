"""A system is a folder: ``system.toml`` and plain ``.sql`` files. Loads and checks it; no I/O besides those files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from queries import duration
from queries.kept import kept
from queries.model import Record
from queries.spec import Kind, Spec, Verb
from queries.statement import ReadingError, Statement, parse_sections, parse_statement


class BrokenSystemError(Exception):
    """A system's folder is not as the contract says; str() names the file and the line."""


class System(Record):
    """A loaded system. Statements come as variants; :func:`choose` takes the one this database can serve best."""

    name: str
    spec: Spec
    limits: dict[str, Any]  # thresholds (seconds or counts) and options by name, as the statements get them
    statements: Mapping[str, tuple[Statement, ...]]  # "roots", "findings/starved", "detail/state" ...
    verbs: Mapping[str, Mapping[str, tuple[Statement, ...]]]  # script -> section -> statements in order

    def verb(self, name: str, kind: str) -> Verb | None:
        """The verb of that name for nodes of that kind, or None."""
        return next((v for v in self.verbs_of(kind) if v.name == name), None)

    def verbs_of(self, kind: str) -> tuple[Verb, ...]:
        """All verbs for nodes of that kind in this variant of the engine."""
        options = self.limits.items()
        return tuple(v for v in self.spec.verbs if kind in v.kinds and v.when.items() <= options)

    def kind(self, name: str) -> Kind | None:
        """The node kind of that name, or None."""
        return next((k for k in self.spec.kinds if k.name == name), None)


REQUIRED = ("nodes", "roots", "children", "live", "find", "counts")
PARAMETERS = frozenset("ids versions args operator reason id parent cursor page query bytes have limits".split())  # noqa: SIM905
SECTIONS = ("lock", "refused", "rows", "change")


def choose(variants: Iterable[Statement], have: frozenset[str], version: int, kind: str = "") -> Statement | None:
    """The variant for ``kind`` with the most needs, all met, and the highest server version at most ``version``.

    One that names the kind goes before one for any kind. None if there is none.
    """
    usable = [s for s in variants if s.needs <= have and s.server <= version and s.is_for(kind)]
    return max(usable, key=lambda s: (bool(s.kinds), len(s.needs), s.server), default=None)


def load(folder: Path, name: str) -> System:
    """Load and check one system's folder. Raises BrokenSystemError naming file and line of what is wrong."""
    from queries import toml

    try:
        path = folder / "system.toml"
        spec = toml.decode(path.read_text("utf-8"), Spec, str(path))
        statements = _statements(folder)
        verbs = {s: _verb(folder / "verbs" / f"{s}.sql") for s in {v.script for v in spec.verbs if v.writes}}
        limits: dict[str, Any] = {key: duration.parse(value) for key, value in spec.thresholds.items()}
        limits |= {key: option.default for key, option in spec.options.items()}
        _check(folder, spec, statements)
    except (toml.TomlError, ReadingError, OSError, ValueError) as error:
        raise BrokenSystemError(f"{error}\nThe system {name!r} is not usable until that is mended.") from error
    return System(name=name, spec=spec, limits=limits, statements=statements, verbs=verbs)


@cache
def builtin() -> tuple[System, ...]:
    """The systems that come with the program, in the order of their names."""
    home = Path(__file__).parent / "systems"
    folders = sorted((f for f in home.iterdir() if (f / "system.toml").is_file()), key=lambda f: f.name)
    return kept(folders, tuple[System, ...], lambda: tuple(load(f, f.name) for f in folders))


def _statements(folder: Path) -> dict[str, tuple[Statement, ...]]:
    found: dict[str, list[Statement]] = {}
    for place, prefix in ((folder, ""), *((folder / d, f"{d}/") for d in ("findings", "samples", "detail"))):
        if not place.is_dir():
            continue
        for file in sorted(place.iterdir(), key=lambda f: f.name):
            if file.name.endswith(".sql") and file.name != "schema.sql":
                statement = parse_statement(_text(file), str(file), PARAMETERS)
                key = prefix + re.split(r"[.@]", file.name, maxsplit=1)[0]
                found.setdefault(key, []).append(statement)
    return {key: tuple(variants) for key, variants in found.items()}


def _text(file: Path) -> str:
    r"""A file with what it includes: a line ``\ir parts/x.sql`` stands for that file, as psql has it."""
    included = re.compile(r"^\\ir (\S+)$", re.MULTILINE)
    return included.sub(lambda m: _text(file.parent / m[1]), file.read_text("utf-8"))


def _verb(file: Path) -> dict[str, tuple[Statement, ...]]:
    sections = parse_sections(_text(file), str(file), PARAMETERS)
    for section in sections:
        if section not in SECTIONS:
            raise ReadingError(f"{file}: section {section!r} is not one of {', '.join(SECTIONS)}")
    for section in ("lock", "rows", "change"):
        if section not in sections:
            raise ReadingError(f"{file}: the section :{section} is missing")
    return sections


def _check(folder: Path, spec: Spec, statements: Mapping[str, tuple[Statement, ...]]) -> None:
    """What the types cannot say: names that must point at something."""
    file = folder / "system.toml"
    for name in REQUIRED:
        if name not in statements:
            raise ReadingError(f"{folder / (name + '.sql')}: the file is missing")
    for variants in statements.values():
        for need in {n for s in variants for n in s.needs} - set(spec.needs):
            raise ReadingError(f"{variants[0].source}: needs {need!r}, which system.toml does not define")
    for word, message in (*_verb_faults(spec), *_finding_faults(spec, statements)):
        rows = enumerate(file.read_text("utf-8").splitlines(), 1)
        line = next((n for n, row in rows if f'"{word}"' in row), 1)
        raise ReadingError(f"{file}:{line}: {message}")


def _verb_faults(spec: Spec) -> Iterator[tuple[str, str]]:
    """The word at fault and a sentence, for each verb that points at nothing or says too little."""
    kinds = {k.name for k in spec.kinds}
    for verb in spec.verbs:
        for kind in set(verb.kinds) - kinds:
            yield kind, f"verb {verb.name}: there is no node kind {kind!r}"
        for need in set(verb.needs) - set(spec.needs):
            yield need, f"verb {verb.name}: needs {need!r}, which is not defined"
        if not verb.writes and not verb.why:
            yield verb.name, f"verb {verb.name}: it is {verb.support}, so it must say why"
        if verb.writes and not verb.effect:
            yield verb.name, f"verb {verb.name}: its effect is missing"


def _finding_faults(spec: Spec, statements: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    verbs = {v.name for v in spec.verbs}
    for finding in spec.findings:
        if finding.verb and finding.verb not in verbs:
            yield finding.verb, f"finding {finding.code}: there is no verb {finding.verb!r}"
        source = f"samples/{finding.sample}" if finding.sample else f"findings/{finding.code}"
        if source not in statements:
            yield finding.code, f"finding {finding.code}: {source}.sql is missing"
        for name in {finding.times, finding.seconds} - {None, *spec.thresholds}:
            yield str(name), f"finding {finding.code}: there is no threshold {name!r}"


def with_limits(system: System, overrides: Mapping[str, object]) -> System:
    """With an operator's thresholds: ``{"starved": 600.0}``, or by kind ``{"SendEmail": {"starved": 60.0}}``."""
    return msgspec.structs.replace(system, limits={**system.limits, **overrides})
