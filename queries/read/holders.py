"""Nodes that keep a node from being taken, up to the first that has a finding."""

from __future__ import annotations

from collections.abc import Sequence

from queries.claim.answers import Why
from queries.read.reader import Reader
from queries.records.finding import Finding, SkippedFinding
from queries.records.node import split_id
from queries.records.record import Record

LEVELS = 5  # nodes behind each other that are looked at


class Holder(Record):
    """Node that keeps another one from being taken.

    ``condition``: which of the other's conditions it keeps from holding, in words.
    """

    node_id: str
    waiter: str
    condition: str
    findings: tuple[Finding, ...] = ()
    skipped_findings: tuple[SkippedFinding, ...] = ()

    @property
    def problems(self) -> str:
        """Its findings in words; without any, how many checks were not made."""
        number = len({each.code for each in self.skipped_findings})
        skipped = f"; {number} {'check was' if number == 1 else 'checks were'} not made" if number else ""
        return ", ".join(each.title for each in self.findings) or f"none was found{skipped}"


async def holders(reader: Reader, whys: Sequence[Why]) -> tuple[Holder, ...]:
    """Read what the conditions of nodes that do not hold lead to.

    What a holder itself waits for is read as long as no holder has a finding. One of a condition that may hold is
    omitted if it has none. Raises DatabaseError.
    """
    found: dict[str, Holder] = {}
    asked = {why.node_id for why in whys}
    for _ in range(LEVELS):
        held = {
            each.holder: (why.node_id, each)
            for why in whys
            for each in why.conditions
            if each.holder and each.holds is not True and each.holder not in asked
        }
        if not held:
            break
        read, whys = await reader.database.together(reader.findings.read(held), reader.claims.why(held, place=False))
        findings = reader.findings.with_samples(read).findings
        for node_id, (waiter, condition) in held.items():
            own = tuple(each for each in findings if each.node_id == node_id)
            if own or condition.holds is False:
                kind = split_id(node_id)[1]
                skipped = tuple(s for s in read.skipped_findings if reader.findings.is_for(s.code, kind))
                found[node_id] = Holder(
                    node_id=node_id,
                    waiter=waiter,
                    condition=condition.words,
                    findings=own,
                    skipped_findings=skipped,
                )
        if any(each.findings for each in found.values()):
            break
        asked |= held.keys()
    return tuple(found.values())
