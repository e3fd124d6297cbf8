"""The private parts of Textual still exist, each used in one module."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from importlib import metadata
from types import FunctionType

from textual._context import active_app
from textual.app import App
from textual.command import CommandPalette
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen

import console.tui
from console.tui import textual_compat
from tests.command import ROOT
from tests.unit.private import is_self, own_names, private, reached


def test_textual_is_the_release_that_was_checked() -> None:
    major, minor, *_ = metadata.version("textual").split(".")
    assert (int(major), int(minor)) == textual_compat.CHECKED, "check textual_compat.py on this release of Textual"


def test_the_private_parts_are_still_there() -> None:
    for owner, names in (
        (Screen, ("_compositor_refresh", "_pop_result_callback", "_refresh_layout")),
        (App, ("_close_messages_no_wait", "_fatal_error", "_handle_exception")),
        (LinuxDriver, ("_run_input_thread",)),
        (CommandPalette, ("_action_command_list",)),
    ):
        assert [name for name in names if not callable(getattr(owner, name, None))] == []
    assert {"_exception", "_screen_stacks", "_clipboard", "_driver", "_batch_count"} <= vars(App[None]()).keys()
    assert {"_compositor", "_layout_required", "_pruning", "_scroll_required"} <= vars(Screen[None]()).keys()
    assert "_file" in LinuxDriver.__init__.__code__.co_names
    assert "_app" in Driver.__init__.__code__.co_names
    assert inspect.iscoroutinefunction(Screen._on_message)
    assert active_app.name == "active_app"


def test_each_private_part_is_used_in_one_module() -> None:
    """No other module names one, overrides one, or takes one from its own object."""
    paths = [path for path in (ROOT / "console").rglob("*.py") if path.name != "textual_compat.py"]
    assert [(path.name, found) for path in paths if (found := reached(path))] == []
    trees = [ast.parse(path.read_text()) for path in paths]
    own = set[str]().union(*map(own_names, trees))
    own |= {name.id for tree in trees for name in ast.walk(tree) if isinstance(name, ast.Name) and private(name.id)}
    names = (each for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Attribute))
    assert {each.attr for each in names if is_self(each.value) and private(each.attr)} <= own
    overridden = [
        (kind.__name__, name)
        for info in pkgutil.walk_packages(console.tui.__path__, "console.tui.")
        for _, kind in inspect.getmembers(importlib.import_module(info.name), inspect.isclass)
        if kind.__module__ == info.name != textual_compat.__name__
        for name, part in vars(kind).items()
        if private(name) and isinstance(part, FunctionType | property)
        if any(name in vars(base) for base in kind.__mro__ if base.__module__.startswith("textual."))
    ]
    assert overridden == []
    assert len(inspect.getsource(textual_compat.Terminal).splitlines()) <= 60
