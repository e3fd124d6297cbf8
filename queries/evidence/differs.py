"""Differences: of relations from the recorded facts, of nodes from their like."""

from __future__ import annotations

import msgspec

from queries.contract.server_spec import LABEL, server_spec
from queries.read.findings import finding_of
from queries.records.snapshot import Part
from queries.workspace import Workspace

CHANGED = "schema_changed"


def changed_relations(workspace: Workspace, server: Part) -> Part:
    """Return the part of the server with the relations of declined engines.

    They differ from an engine's by the type of a column only.
    """
    more = (
        finding_of(
            server_spec().codes[CHANGED],
            f"{LABEL}/table:{each.engine}@{each.schema}.{each.changed[0]}",
            None,
            {
                "label": f"{each.engine} in the schema {each.schema}",
                "table": each.changed[0],
                "what": f"{each.changed[1]}. So unstick does not read it",
            },
            affects=[each.engine],
        )
        for each in workspace.declined
        if each.changed is not None
    )
    findings = (*server.findings.findings, *more)
    return msgspec.structs.replace(server, findings=msgspec.structs.replace(server.findings, findings=findings))
