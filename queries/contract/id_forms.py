"""Form of the keys of nodes: of their column, or ``form`` in engine.toml."""

from __future__ import annotations

import re

from queries.contract.detect import DetectedEngine

TEXT = "text"  # any text is a key
_NUMBER = ("[0-9]{1,19}", "a number", "42")
_FORMS = {
    "uuid": ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a UUID", "01234567-89ab-cdef-0123-456789abcdef"),
    "macaddr8": ("[0-9a-f]{2}(:[0-9a-f]{2}){7}|[0-9a-f]{16}", "a MAC address of 8 bytes", "01:23:45:67:89:ab:cd:ef"),
    **dict.fromkeys(("int2", "int4", "int8"), _NUMBER),
    "name/int8": (".+/[0-9]{1,18}", "a name and a number", "name/42"),
}


def why_malformed(detected: DetectedEngine, kind: str, key: str) -> str:
    """Return why a key cannot be that of a node of this kind, or "".

    Any text is the key of a node whose kind has neither a form nor a column of a known type.
    """
    node_kind = detected.engine.kind(kind)
    if node_kind is None:
        return ""
    relation = detected.relations.get(node_kind.table)
    type_ = relation.columns.get(node_kind.key, "") if relation is not None else ""
    form = node_kind.form or (type_ if type_ in _FORMS else TEXT)
    if form == TEXT:
        return ""
    known_forms = [_FORMS.get(each, (re.escape(each), f'"{each}"', each)) for each in form.split("|")]
    if any(re.fullmatch(pattern, key, re.IGNORECASE) for pattern, _, _ in known_forms):
        return ""
    words = " or ".join(words for _, words, _ in known_forms)
    return f"the key of a {kind.replace('_', ' ')} is {words}, for example {detected.label}/{kind}:{known_forms[0][2]}"
