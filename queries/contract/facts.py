"""Facts of an engine's genuine tables: ``catalog.toml``.

They are recorded from a server that has run the engine's own migrations. They have no text of the engine but names,
types, predicates and events. Without the file, no object on the engine's tables is called foreign or missing.
"""

from __future__ import annotations

from queries.contract.spec import Own
from queries.files.toml_file import TomlFile
from queries.records.record import Record

UNIQUE = "unique index on "
KEPT = (
    "check on ",
    "foreign key on ",
    "default on ",
    "domain check on ",
    "trigger on ",
    "function on ",
)  # as they were made


class Version(Record, forbid_unknown_fields=True):
    """Facts of one version.

    ``source`` and ``commit``: where its migrations are. ``made``: how they were run. ``columns``: name and type of each
    column, by table. ``objects`` are explained in ``Own``. ``varies``: those that the engine itself may drop, and
    ``unlogged TABLE`` for a table that it may make so.
    """

    source: str
    commit: str
    made: str
    columns: dict[str, tuple[str, ...]]
    objects: tuple[str, ...]
    varies: tuple[str, ...] = ()


class Facts(Record, forbid_unknown_fields=True):
    """The content of ``catalog.toml``."""

    versions: tuple[Version, ...]


def own_objects(file: TomlFile) -> Own:
    """Return what belongs to the engine. Raises TomlError."""
    versions = file.decode(Facts).versions
    objects = [set(version.objects) for version in versions]
    always = sorted(set.intersection(*objects)) if objects else []
    columns: dict[str, set[str]] = {}
    for version in versions:
        for table, some in version.columns.items():
            columns.setdefault(table, set()).update(some)
    varies = tuple(sorted({each for version in versions for each in version.varies}))
    named = {f"column on {table}: {each.partition(' ')[0]}" for table, some in columns.items() for each in some}
    return Own(
        objects=tuple(sorted(named.union(*objects))),
        unique=tuple(each for each in always if each.startswith(UNIQUE)),
        always=tuple(each for each in always if each.startswith(KEPT) and each not in varies),
        columns={table: tuple(sorted(some)) for table, some in columns.items()},
        varies=varies,
    )
