"""Form of the keys of nodes, by the type of the column that has them."""

from __future__ import annotations

import re

from queries.contract.detect import DetectedEngine

_NUMBER = ("[0-9]{1,19}", "a number", "42")
_FORMS = {
    "uuid": ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a UUID", "01234567-89ab-cdef-0123-456789abcdef"),
    "macaddr8": ("[0-9a-f]{2}(:[0-9a-f]{2}){7}|[0-9a-f]{16}", "a MAC address of 8 bytes", "01:23:45:67:89:ab:cd:ef"),
    **dict.fromkeys(("int2", "int4", "int8"), _NUMBER),
}


def why_malformed(found: DetectedEngine, kind: str, key: str) -> str:
    """Return why a key cannot be that of a node of this kind, or "".

    Nothing is known of a kind without a table.
    """
    known = found.engine.kind(kind)
    relation = found.relations.get(known.table) if known is not None and known.table else None
    if known is None or relation is None:
        return ""
    form = _FORMS.get(relation.columns.get(known.key, ""))
    if form is None or re.fullmatch(form[0], key, re.IGNORECASE):
        return ""
    return f"the key of a {kind.replace('_', ' ')} is {form[1]}, for example {found.label}/{kind}:{form[2]}"
