"""Findings about the server: causes outside of the engines' tables.

They are read once for all engines. Each part is one statement on the catalog and the statistics views. No statement
reads an engine's tables, so the cost does not depend on their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.detect import DetectedEngine
from queries.contract.server_spec import LABEL, server_spec, server_statement
from queries.contract.spec import FindingSpec
from queries.db.database import Database, Transaction
from queries.db.in_turn import in_turn
from queries.db.shared_sql import statement
from queries.errors import readable
from queries.model import Finding, Findings, SkippedFinding
from queries.read import incidents, sentence


class ServerFindings:
    """Reader of the findings about one server.

    ``engines`` are the engines of the database; assign it after they were detected again. ``settings`` are the
    thresholds, in seconds or as numbers.
    """

    def __init__(self, database: Database, engines: Iterable[DetectedEngine]) -> None:
        self.database = database
        self.engines: Sequence[DetectedEngine] = tuple(engines)
        self._spec = server_spec()
        self.settings = dict(self._spec.settings)
        self._codes = {spec.code: spec for spec in self._spec.findings}

    async def findings(self) -> Findings:
        """Read the findings of all parts; a part that fails is in ``skipped_findings``."""
        found: list[Finding] = []
        skipped: list[SkippedFinding] = []
        left = list(self._spec.parts) if self.engines else []
        values = {
            "args": msgspec.json.encode({"engines": [_declared(engine) for engine in self.engines]}).decode(),
            "settings": msgspec.json.encode(self.settings).decode(),
        }

        async def read(transaction: Transaction, part: str) -> None:
            rows = await transaction.rows(server_statement(part), values)
            with readable(f"{part}.sql"):
                found.extend(self._finding(self._codes[row["code"]], row) for row in rows)

        def failed(part: str, why: str) -> None:
            skipped.extend(
                SkippedFinding(engine=LABEL, code=code, why=why, failed=True) for code in self._spec.parts[part]
            )

        async with self.database.reading() as transaction:
            at = float((await transaction.rows(statement("now"), {}))[0]["now"])
            await in_turn(transaction, left, read, failed)
        while left:
            async with self.database.reading() as transaction:
                await in_turn(transaction, left, read, failed)
        return Findings(found=tuple(sorted(found, key=incidents.rank)), at=at, skipped_findings=tuple(skipped))

    def _finding(self, spec: FindingSpec, row: Mapping[str, Any]) -> Finding:
        evidence = msgspec.json.decode(row["evidence"])
        return Finding(
            engine=LABEL,
            node_id=f"{LABEL}/{row['id']}",
            code=spec.code,
            title=spec.title,
            sentence=sentence.fill(spec.sentence, evidence),
            severity=spec.severity,
            proof=spec.proof,
            since=row["since"],
            evidence=evidence,
            affects=tuple(sorted(row["affects"])),
            suspected=row["suspected"],
        )


def _declared(engine: DetectedEngine) -> dict[str, Any]:
    """Return what the statements need to know about an engine."""
    return {"label": engine.label, "schema": engine.schema, "tables": sorted(engine.relations)}
