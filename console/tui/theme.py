"""Themes, and the variables that Textual's own themes lack.

Meaning never rests on a hue: each phase also has its glyph and its word. ``warning``, orange, is for what needs
attention only; ``accent`` for what changes the database: keys, operators' changes.
"""

from __future__ import annotations

from dataclasses import replace

from textual.theme import Theme

from queries.records.node import Phase

_DARK = {
    Phase.FAILED: "#f0716b",
    Phase.BLOCKED: "#d8c766",
    Phase.HELD: "#c39be8",
    Phase.RUNNING: "#5fb8f2",
    Phase.READY: "#86c976",
    Phase.SCHEDULED: "#8fa9c4",
    Phase.UNKNOWN: "#b5aa84",
    Phase.CANCELLED: "#8e97a3",
    Phase.DONE: "#84909c",
}
_LIGHT = {
    Phase.FAILED: "#b3261e",
    Phase.BLOCKED: "#716300",
    Phase.HELD: "#7a3fb0",
    Phase.RUNNING: "#0a62a8",
    Phase.READY: "#2c7a1f",
    Phase.SCHEDULED: "#44607d",
    Phase.UNKNOWN: "#6b6030",
    Phase.CANCELLED: "#5f6770",
    Phase.DONE: "#68717a",
}
# Okabe and Ito's palette: distinguishable with every common colour vision.
_CLEAR = {
    Phase.FAILED: "#ff6f3c",
    Phase.BLOCKED: "#cfc06a",
    Phase.HELD: "#a99af0",
    Phase.RUNNING: "#56b4e9",
    Phase.READY: "#00c295",
    Phase.SCHEDULED: "#a9c3de",
    Phase.UNKNOWN: "#f0e442",
    Phase.CANCELLED: "#9a9a9a",
    Phase.DONE: "#8a8a8a",
}

DEFAULT = "unstick"


def _variables(phases: dict[Phase, str], *, faint: str, line: str, added: str, removed: str) -> dict[str, str]:
    return {
        **{f"phase-{phase}": color for phase, color in phases.items()},
        "faint": faint,
        "line": line,
        "added": added,
        "removed": removed,
        "block-cursor-text-style": "none",
    }


_DARK_VARIABLES = _variables(_DARK, faint="#7d8794", line="#2a323d", added="#86c976", removed="#f0716b")
_LIGHT_VARIABLES = _variables(_LIGHT, faint="#6a7480", line="#d0d6dc", added="#2c7a1f", removed="#b3261e")
_CLEAR_VARIABLES = _variables(_CLEAR, faint="#9aa4ae", line="#39424d", added="#56b4e9", removed="#ff6f3c")

THEMES = (
    Theme(
        name=DEFAULT,
        primary="#5fb8f2",
        secondary="#8fa9c4",
        accent="#f08cc4",
        warning="#eaa14b",
        error="#f0716b",
        success="#86c976",
        foreground="#d5dbe2",
        background="#10151b",
        surface="#161c24",
        panel="#1e2631",
        variables=_DARK_VARIABLES,
    ),
    Theme(
        name="unstick-light",
        primary="#0a62a8",
        secondary="#44607d",
        accent="#a3246f",
        warning="#a35a00",
        error="#b3261e",
        success="#2c7a1f",
        foreground="#1c2228",
        background="#fbfbf9",
        surface="#f2f3f1",
        panel="#e5e8ea",
        dark=False,
        variables=_LIGHT_VARIABLES,
    ),
    Theme(
        name="unstick-clear",
        primary="#56b4e9",
        secondary="#a9c3de",
        accent="#e58fbf",
        warning="#e69f00",
        error="#ff6f3c",
        success="#00c295",
        foreground="#f2f2f2",
        background="#0b0b0d",
        surface="#141417",
        panel="#222228",
        variables=_CLEAR_VARIABLES,
    ),
)

CONTEXT_COLORS = {
    "black": "#3a3f46",
    "red": "#c8322b",
    "green": "#3d8b37",
    "yellow": "#c9a400",
    "blue": "#2f6fb5",
    "magenta": "#b0429b",
    "cyan": "#1f8a99",
    "white": "#d8dcdf",
    "orange": "#c96f12",
    "purple": "#7a4bb0",
    "grey": "#6b7480",
}


def of_terminal(colors: str) -> str:
    """Return our theme for ``COLORFGBG``, which ends with 7 or 15 if it is light."""
    return "unstick-light" if colors.rpartition(";")[2] in ("7", "15") else DEFAULT


def without_hue(theme: Theme) -> Theme:
    """Return a theme for ``NO_COLOR``, which turns each colour to a grey as bright.

    A red would be as dark as text that matters least.
    """
    loud = theme.foreground or ""
    return replace(theme, error=loud, variables={**theme.variables, f"phase-{Phase.FAILED}": loud})


def defaults(*, dark: bool) -> dict[str, str]:
    """Our variables for a theme that has none of its own."""
    return _DARK_VARIABLES if dark else _LIGHT_VARIABLES


def context_color(color: str | None, *, production: bool) -> str:
    """A context's colour as ``#rrggbb``. Production without one is red."""
    if not color:
        return CONTEXT_COLORS["red" if production else "blue"]
    return CONTEXT_COLORS.get(color, color)
