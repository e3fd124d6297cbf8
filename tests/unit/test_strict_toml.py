"""Errors of the strict TOML decoder point at the innermost setting that is wrong."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
import pytest

from queries.files.strict_toml import TomlError, TomlFile
from queries.files.written import FormError, TomlValue


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Part(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    level: Level = Level.LOW
    size: int | dict[str, int] = 0


def words(written: TomlValue) -> TomlValue:
    """Return a text as the list of its words."""
    if not isinstance(written.value, str):
        return written
    if not written.value:
        raise FormError("has no word")
    return TomlValue([TomlValue(word, written.at) for word in written.value.split()], written.at)


class Short(msgspec.Struct, forbid_unknown_fields=True):
    levels: Annotated[tuple[Level, ...], words] = ()
    parts: dict[str, Part] = {}


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    parts: dict[str, tuple[Part, ...]] = {}


def test_a_valid_file_is_decoded() -> None:
    text = '[[parts.a]]\nname = "x"\nlevel = "high"\nsize.b = 2'
    assert TomlFile("f", text).decode(Whole) == Whole(parts={"a": (Part("x", Level.HIGH, {"b": 2}),)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[parts.a]]\nname = 1", "f:2: parts.a.0.name must be text, not a number"),
        ('[[parts.a]]\nname = "x"\n[[parts.a]]', 'f:3: parts.a.1 needs the setting "name"'),
        ('[[parts."a b"]]\nnane = "x"', 'f:2: parts."a b".0.nane is not a setting; did you mean "name"?'),
        ('[[parts.a]]\nname = "x"\nlevel = "mid"', "f:3: parts.a.0.level must be one of low, high"),
        ('[[parts.a]]\nname = "x"\nsize.b = 1.5', "f:3: parts.a.0.size.b must be a whole number, not a number"),
        ('[[parts.a]]\nname = "x"\nsize = true', "f:3: parts.a.0.size must be a whole number or a table, not true or"),
        ("[parts]\na = {}", "f:2: parts.a must be a list, not a table"),
        ("parts = = 1", "f:1: it is not valid TOML"),
    ],
)
def test_an_error_names_line_setting_and_remedy(text: str, message: str) -> None:
    with pytest.raises(TomlError) as caught:
        TomlFile("f", text).decode(Whole)
    assert str(caught.value).startswith(message)


def test_a_type_names_its_short_form() -> None:
    long, short = (TomlFile("f", text).decode(Short) for text in ('levels = ["low", "high"]', 'levels = "low high"'))
    assert long == short == Short(levels=(Level.LOW, Level.HIGH))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ('levels = "low mid"', 1, "levels.1 must be one of low, high"),
        ('levels = ""', 1, "levels has no word"),
        ("levels = 1", 1, "levels must be a list, not a number"),
        ('levels = ["low", "mid"]', 18, "levels.1 must be one of low, high"),
        (
            'parts = { n = { name = "size", size = "n" } }',
            32,
            "parts.n.size must be a whole number or a table, not text",
        ),
    ],
)
def test_a_fault_has_the_place_at_which_a_setting_is_written(text: str, column: int, message: str) -> None:
    with pytest.raises(TomlError) as caught:
        TomlFile("f", f"\n{text}").decode(Short)
    (fault,) = caught.value.faults
    assert (fault.line, fault.column, fault.message) == (2, column, message)
