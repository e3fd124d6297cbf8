"""The key table is the only one: bindings, screen and documents agree with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widget import Widget

from console.config import ConfigError, parse
from console.target import Target
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.keymap import Key, Keys
from console.tui.run import run
from console.tui.widgets.checkbox import Checkbox
from console.tui.widgets.filter_line import FilterLine
from console.tui.widgets.line_view import LineView
from console.tui.widgets.list_table import ListTable
from queries.contract.builtin import builtin

pytestmark = pytest.mark.fast


def test_ids_are_unique_where_they_meet() -> None:
    ids = [key.id for table in keymap.TABLES.values() for key in table]
    assert len(ids) - len(set(ids)) == len(keymap.NODE) * 5 + 5, "only keys of a node, and the search"


def test_keys_do_not_collide_on_a_page() -> None:
    pages = (
        keymap.LIST + keymap.ROWS + keymap.TREE,
        keymap.LIST + keymap.ROWS + keymap.STUCK,
        keymap.LIST + keymap.ROWS + keymap.DEAD,
        keymap.LIST + keymap.ROWS + keymap.AUDIT_LOG,
        keymap.LIST + keymap.ROWS + keymap.FOUND,
        keymap.DETAIL,
        keymap.ENTRY,
        keymap.BLOCKERS,
    )
    for page in pages:
        bound = [part for key in (*keymap.APP, *page) for part in key.keys.split(",")]
        assert len(bound) == len(set(bound))


def test_the_widgets_bind_what_the_tables_say() -> None:
    bound: dict[type[Widget], tuple[Key, ...]] = {
        LineView: keymap.TEXT,
        FilterLine: keymap.FILTER_LINE,
        Checkbox: keymap.CHECKBOX,
    }
    lists: dict[type[Widget], tuple[Key, ...]] = {ListTable: keymap.LIST}
    for widget, table in (lists | bound).items():
        assert [b.id for b in widget.BINDINGS if isinstance(b, Binding)] == [key.id for key in table]
        assert all(hasattr(widget, f"action_{key.handler.partition('(')[0]}") for key in table)


def test_lower_case_looks_and_upper_case_changes() -> None:
    single = [
        (part, key.handler)
        for table in keymap.TABLES.values()
        for key in table
        for part in key.keys.split(",")
        if part.isalpha() and len(part) == 1 and (part, key.id) != ("H", "shift")  # which only copies
    ]
    assert all(
        name.isupper()
        == handler.startswith(("screen.signal", "screen.end_session", "screen.undo", "screen.redrive", "screen.create"))
        for name, handler in single
    )
    actions = [action for each in builtin() for action in each.spec.actions]
    assert all(key == key.upper() for key in keymap.action_keys(actions, {}))


def test_an_action_can_be_given_other_keys() -> None:
    actions = [action for each in builtin() for action in each.spec.actions]
    found = keymap.action_keys(actions, {"action.wake": "f9,X"})
    assert "wake" in found["f9"]
    assert "wake" in found["X"]
    assert "wake" not in found.get("W", set())
    assert "action.wake" in keymap.ids(actions)
    assert "rows.filter" in keymap.ids(actions)


def test_how_a_key_is_shown() -> None:
    shown = {"question_mark,f1": "?", "ctrl+q": "^q", "slash": "/", "escape,backspace": "esc", "W": "W"}
    assert {key: keymap.shown(key) for key in shown} == shown
    assert Keys((), {}).all_shown(keymap.BY_ID["table.up"]) == "↑ k"


def test_every_binding_has_an_id_and_a_tooltip() -> None:
    for table in keymap.TABLES.values():
        for binding in bindings(table):
            assert isinstance(binding, Binding)
            assert binding.id
            assert binding.tooltip


def test_a_key_that_is_taken_away_stays_away() -> None:
    actions = [action for each in builtin() for action in each.spec.actions]
    assert "" not in keymap.action_keys(actions, {"action.wake": ""})
    assert not any("wake" in names for names in keymap.action_keys(actions, {"action.wake": " "}).values())


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ('[keys]\n"tree.lve" = "f6"', 'did you mean "tree.live"?'),
        ('[keys]\n"action.wke" = "f6"', 'did you mean "action.wake"?'),
        ('theme = "unstik"', 'did you mean "unstick"?'),
        ('theme = "texual-dark"', 'did you mean "textual-dark"?'),
    ],
)
def test_settings_that_name_what_there_is_not(settings: str, wanted: str) -> None:
    target = Target(config=parse(settings, Path("config.toml")))
    with pytest.raises(ConfigError, match=re.escape(wanted)):
        run(target)
