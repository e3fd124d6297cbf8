"""Form of the keys of nodes: of their column, or ``form`` in engine.toml."""

from __future__ import annotations

import re
from typing import NamedTuple

from queries.contract.detect import DetectedEngine
from queries.records.node import a_kind


class KeyType(NamedTuple):
    """A type of keys.

    ``text``: pattern of their texts. ``find``: the template by which one is found is ``find_<find>``. ``cast``: the
    type to which a text is cast, because digits may be too many for a smaller one. ``words`` and ``example`` are for a
    message.
    """

    text: str
    find: str = ""
    cast: str = ""
    words: str = ""
    example: str = ""


# Of 19 digits those below 9 * 10^18, which int8 can hold: ids that are made of a time are as long.
_NUMBER = KeyType("-?([0-9]{1,18}|[1-8][0-9]{18})", "number", "int8", "a number", "42")
_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_MAC = "([0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}|[0-9a-fA-F]{16})"
KEY_TYPES = {
    **dict.fromkeys(("int8", "int4", "int2"), _NUMBER),
    "uuid": KeyType(_UUID, "uuid", "uuid", "a UUID", "01234567-89ab-cdef-0123-456789abcdef"),
    "macaddr8": KeyType(_MAC, "number", "macaddr8", "a MAC address of 8 bytes", "01:23:45:67:89:ab:cd:ef"),
    "text": KeyType(".*", "text", "text"),
    "varchar": KeyType(".*", "text", "varchar"),
}
_FORMS = {**KEY_TYPES, "name/int8": KeyType(".+/[0-9]{1,18}", words="a name and a number", example="name/42")}


def why_malformed(detected: DetectedEngine, kind: str, key: str) -> str:
    """Return why a key cannot be that of a node of this kind, or "".

    Any text is the key of a node whose kind has neither a form nor a column of a known type.
    """
    node_kind = detected.engine.kind(kind)
    if node_kind is None:
        return ""
    relation = detected.relations.get(node_kind.table)
    type_ = relation.columns.get(node_kind.key, "") if relation is not None else ""
    form = node_kind.form or (type_ if type_ in KEY_TYPES else "text")
    forms = [_FORMS.get(each, KeyType(re.escape(each), words=f'"{each}"', example=each)) for each in form.split("|")]
    if any(re.fullmatch(each.text, key, re.DOTALL) for each in forms):
        return ""
    words, example = " or ".join(each.words for each in forms), f"{detected.label}/{kind}:{forms[0].example}"
    return f"the key of {a_kind(kind.replace('_', ' '))} is {words}, for example {example}"
