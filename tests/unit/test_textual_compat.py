"""The private parts of Textual still exist, each used in one module."""

from __future__ import annotations

import inspect
from importlib import metadata

from textual._context import active_app
from textual.app import App
from textual.command import CommandPalette
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen

from console.tui import driver, textual_compat
from tests.command import ROOT
from tests.unit.private import reached


def test_textual_is_the_release_that_was_checked() -> None:
    major, minor, *_ = metadata.version("textual").split(".")
    assert (int(major), int(minor)) == textual_compat.CHECKED, "check textual_compat.py on this release of Textual"


def test_the_private_parts_are_still_there() -> None:
    for owner, names in (
        (Screen, ("_compositor_refresh", "_pop_result_callback", "_refresh_layout")),
        (App, ("_close_messages_no_wait", "_fatal_error", "_handle_exception")),
        (LinuxDriver, ("_run_input_thread", "_sigcont_application")),
        (CommandPalette, ("_action_command_list",)),
    ):
        assert [name for name in names if not callable(getattr(owner, name, None))] == []
    assert {"_exception", "_screen_stacks", "_clipboard", "_driver", "_batch_count"} <= vars(App[None]()).keys()
    assert {"_compositor", "_layout_required", "_pruning", "_scroll_required"} <= vars(Screen[None]()).keys()
    assert {"_file", "_key_thread", "_must_signal_resume"} <= {*LinuxDriver.__init__.__code__.co_names}
    assert {"_app", "_auto_restart"} <= {*Driver.__init__.__code__.co_names}
    assert inspect.iscoroutinefunction(Screen._on_message)
    assert active_app.name == "active_app"


def test_each_private_part_is_used_in_one_module() -> None:
    """The driver overrides some by name."""
    paths = [path for path in (ROOT / "console").rglob("*.py") if path.name != "textual_compat.py"]
    assert [(path.name, found) for path in paths if (found := reached(path))] == []
    assert len(inspect.getsource(driver.Terminal).splitlines()) <= 60
