"""Trust in the roles whose code a statement on an engine's tables would run.

A database may contain objects of a hostile role, and the operator may be a superuser. The owner of a table, a type or
their schema can place code there that every reader runs: a policy, a cast, or a view instead of the table. So an engine
whose objects belong to an untrusted role is not read at all. A change also runs the code of the tables that it reaches
through foreign keys, rules and functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from queries.records.record import Record
from queries.text.psql_text import quoted_name


class UntrustedObject(Record):
    """A row of ``code.sql``, which explains the fields."""

    schema: str
    relation: str
    command: str
    sort: str
    what: str
    role: str


class Trust:
    """Rows of ``code.sql``. Each method returns a reason, or "" if all is trusted."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self._doubts: dict[str, list[UntrustedObject]] = {}
        for row in rows:
            self._doubts.setdefault(row["schema"], []).append(UntrustedObject(**row))

    def unreadable(self, schema: str, relations: Iterable[str]) -> str:
        """Return why these tables must not be read, or ""."""
        names = {"", *relations}
        for doubt in self._doubts.get(schema, ()):
            if doubt.sort in ("schema", "reads") and doubt.relation in names:
                return (
                    f"{doubt.what} belongs to {doubt.role}, who is not trusted: reading could run that role's code."
                    f" If you trust it: --trust {doubt.role}, or trusted_owners in a context"
                )
        return ""

    def unwritten(self, schema: str, relation: str, command: str = "") -> str:
        """Return why this table must not be changed, or "".

        ``command``: what only this command reaches through foreign keys, instead of what every change runs.
        """
        for doubt in self._doubts.get(schema, ()):
            if doubt.relation not in (relation, "") or doubt.command != command:
                continue
            if doubt.sort in ("reads", "writes"):
                change = f"{command} of a row of" if command else "a change of"
                does = "runs" if doubt.what.startswith("the function ") else "reaches"
                return f"{change} {relation} {does} {doubt.what} of {doubt.role}, who is not trusted (--trust)"
            if doubt.sort == "child":
                return (
                    f"the table {doubt.what} inherits from {relation}: a change would also change its rows, which may"
                    " be copies (ALTER TABLE ... NO INHERIT)"
                )
        return ""

    def trigger_makers(self, schema: str, privileges: Iterable[str]) -> tuple[str, ...]:
        """Return untrusted roles that can create triggers on the tables of privileges.

        Also on those that they reach. ``privileges`` read as ``"UPDATE task"``.
        """
        return tuple(d.role for d in self._reached(schema, privileges) if d.sort == "trigger")

    def reached(self, schema: str, privileges: Iterable[str]) -> dict[str, bool]:
        """Return the tables that the privileges also change, as quoted names.

        True: the role may lock the whole table.
        """
        return {d.what: d.sort == "locks" for d in self._reached(schema, privileges) if d.sort in ("locks", "parses")}

    def _reached(self, schema: str, privileges: Iterable[str]) -> Iterator[UntrustedObject]:
        pairs = {(name, each) for word, _, name in (p.partition(" ") for p in privileges) for each in (word, "")}
        return (d for d in self._doubts.get(schema, ()) if (d.relation, d.command) in pairs)

    def event_trigger(self) -> str:
        """Return why DDL could run code of an untrusted role, or ""."""
        doubt = next((d for d in self._doubts.get("", ()) if d.sort == "event"), None)
        return f"it runs {doubt.what} of {doubt.role}, who is not trusted (--trust)" if doubt else ""

    def trigger_path(self, schema: str) -> tuple[str, ...]:
        """Return the schemas in which triggers of a schema's tables may find names.

        These are the ones of the role's own search_path in which only trusted roles can create objects. None without
        triggers and rules.
        """
        if not any(d.sort == "runs" for d in self._doubts.get(schema, ())):
            return ()
        paths = ((d.relation, each) for each, doubts in self._doubts.items() for d in doubts if d.sort == "path")
        return tuple(name for _, name in sorted(paths) if not self.uncalled(name))

    def uncalled(self, schema: str, functions: Iterable[str] = ()) -> str:
        """Return why a schema and these functions must not be used, or "".

        The schema must stay off the search_path, and the functions must not be called.
        """
        named = {f"the function {name}" for name in functions}
        for doubt in self._doubts.get(schema, ()):
            if doubt.sort in ("schema", "create"):
                if doubt.sort == "schema":
                    return f"{doubt.what} belongs to {doubt.role}, who is not trusted (--trust)"
                return (
                    f"{doubt.role} can create objects in {doubt.what}, and a call of the engine's functions could run"
                    f" them ({self.remedy(schema)})"
                )
            if doubt.sort == "function" and doubt.what in named:
                return f"{doubt.what} belongs to {doubt.role}, who is not trusted (--trust)"
        return ""

    def remedy(self, schema: str) -> str:
        """Return the REVOKE that stops untrusted roles from creating objects, or ""."""
        roles = [d.role for d in self._doubts.get(schema, ()) if d.sort == "create"]
        quoted = (role if role == "PUBLIC" else quoted_name(role) for role in roles)
        return f"REVOKE CREATE ON SCHEMA {quoted_name(schema)} FROM {', '.join(quoted)}" if roles else ""

    def lacking(self, schema: str, relation: str, command: str) -> tuple[str, ...]:
        """Return the privileges that the role lacks for INSERT or UPDATE on a table.

        Defaults, constraints and indexes need privileges of their own.
        """
        doubts = self._doubts.get(schema, ())
        return tuple(d.what for d in doubts if d.sort == command.lower() and d.relation == relation)
