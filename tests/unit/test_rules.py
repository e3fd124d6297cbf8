"""The table of rules names settings that exist."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
import pytest

from queries.contract.rules import KIND_RULES, RULES, Rules
from queries.contract.spec import EngineSpec


def record(kind: Any) -> Any:
    """Return a type without None and what annotates it."""
    if typing.get_origin(kind) is typing.Annotated:
        return record(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return record(next(each for each in typing.get_args(kind) if each is not types.NoneType))
    return kind


def settings(kind: Any) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


@pytest.mark.parametrize("rules", [*KIND_RULES, *RULES], ids=lambda rules: rules.at)
def test_a_rule_is_about_a_setting(rules: Rules) -> None:
    kind: Any = EngineSpec
    for step in rules.at.split("."):
        if step == "*":
            arguments = typing.get_args(kind)
            kind = record(arguments[1] if typing.get_origin(kind) is dict else arguments[0])
        else:
            kind = record(settings(kind)[step])
    for setting, _, _ in rules.rules:
        assert not setting or setting in settings(kind)
