"""Screens of a terminal as self-contained SVG, still or moving.

The same screens give the same picture.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import pyte
from rich.cells import cell_len

FONTS = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
CELL, LINE, FONT = 12.04, 24.4, 20  # sizes in pixels
MARGIN, TITLE = 14, 40

# The colours that a terminal's own palette defines, as in xterm.
NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")  # pyte's
NORMAL = ("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5")
BRIGHT = ("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff")
DARK: Mapping[str, str] = {
    "default": "#e5e5e5",
    "background": "#000000",
    **dict(zip(NAMES, NORMAL, strict=True)),
    **dict(zip((f"bright{name}" for name in NAMES), BRIGHT, strict=True)),
    "bfightmagenta": "#ff00ff",  # pyte 0.8 misspells it for backgrounds
}
LIGHT: Mapping[str, str] = {**DARK, "default": "#000000", "background": "#ffffff"}

_WORDS = re.compile(r"\S+(?: \S+)*")


class Run(NamedTuple):
    """Cells of one line with one style; ``at`` is the first cell."""

    at: int
    text: str
    color: str
    background: str
    bold: bool
    italic: bool
    underlined: bool


Frame = tuple[tuple[Run, ...], ...]
"""One screen: the runs of each line."""


def frame(screen: pyte.Screen, colors: Mapping[str, str] = DARK) -> Frame:
    """Return what a terminal shows now. ``colors`` is its palette."""
    return tuple(_line(screen, y, colors) for y in range(screen.lines))


def _line(screen: pyte.Screen, y: int, colors: Mapping[str, str]) -> tuple[Run, ...]:
    runs: list[Run] = []
    at = 0
    cells = [screen.buffer[y][x] for x in range(screen.columns)]
    for style, group in groupby(cells, lambda cell: cell._replace(data="")):
        text = "".join(cell.data for cell in group)
        color, background = _color(style.fg, colors, "default"), _color(style.bg, colors, "background")
        if style.reverse:
            color, background = background, color
        runs.append(Run(at, text, color, background, style.bold, style.italics, style.underscore))
        at += cell_len(text)
    return tuple(runs)


def _color(name: str, colors: Mapping[str, str], default: str) -> str:
    return colors[default] if name == "default" else colors.get(name) or f"#{name}"


def picture(shown: Frame, title: str) -> str:
    """Return one screen as SVG."""
    return _svg(shown, title, "", "".join(_drawn(line, y) for y, line in enumerate(shown)))


def moving(frames: Sequence[tuple[Frame, float]], title: str) -> str:
    """Return screens, each shown for a number of seconds, as an SVG that repeats them.

    A line that several screens share is drawn once.
    """
    whole = sum(seconds for _, seconds in frames)
    shown: dict[tuple[int, tuple[Run, ...]], list[int]] = {}
    for number, (lines, _) in enumerate(frames):
        for y, line in enumerate(lines):
            shown.setdefault((y, line), []).append(number)
    starts = [sum(seconds for _, seconds in frames[:number]) for number in range(len(frames) + 1)]
    spans: dict[tuple[int, ...], list[str]] = {}
    for (y, line), numbers in shown.items():
        spans.setdefault(tuple(numbers), []).append(_drawn(line, y))
    rules, groups = [], []
    for count, (numbers, drawn) in enumerate(spans.items()):
        if len(numbers) == len(frames):
            groups.append("".join(drawn))
            continue
        steps = ["0%{visibility:hidden}"] * (0 not in numbers)
        for number in range(len(frames)):
            if (number in numbers) != (number - 1 in numbers):
                state = "visible" if number in numbers else "hidden"
                steps.append(f"{100 * starts[number] / whole:.3f}%{{visibility:{state}}}")
        last = "visible" if len(frames) - 1 in numbers else "hidden"
        rules.append(f"@keyframes f{count}{{{''.join(steps)}100%{{visibility:{last}}}}}")
        # a viewer that does not animate shows the first screen
        still = "" if 0 in numbers else "visibility:hidden;"
        rules.append(f".f{count}{{{still}animation:f{count} {whole:g}s step-end infinite}}")
        groups.append(f'<g class="f{count}">{"".join(drawn)}</g>')
    return _svg(frames[0][0], title, "\n".join(rules), "\n".join(groups))


def _svg(size: Frame, title: str, rules: str, body: str) -> str:
    columns = max((run.at + cell_len(run.text) for line in size for run in line), default=80)
    width, height = columns * CELL + 2 * MARGIN, len(size) * LINE + TITLE + MARGIN
    paper = size[-1][-1].background
    dots = "".join(
        f'<circle cx="{MARGIN + 12 + 22 * n}" cy="{TITLE / 2}" r="7" fill="{color}"/>'
        for n, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">
<style>
text{{font-family:{FONTS};font-size:{FONT}px;white-space:pre}}
.b{{font-weight:bold}} .i{{font-style:italic}} .u{{text-decoration:underline}}
{rules}
</style>
<rect width="{width:g}" height="{height:g}" rx="8" fill="{paper}" stroke="#7f7f7f" stroke-opacity=".35"/>
{dots}
<text x="{width / 2:g}" y="{TITLE / 2 + 7:g}" text-anchor="middle" fill="#8a8f96">{html.escape(title)}</text>
<g transform="translate({MARGIN},{TITLE})">
{body}
</g>
</svg>
"""
    assert not re.search(r"url\([\"']?http|href=|@import", svg)
    return svg


def _drawn(line: tuple[Run, ...], y: int) -> str:
    """Return one line.

    Each word is placed by itself: some viewers drop spaces or ignore textLength.
    """
    boxes, words = [], []
    for run in line:
        x, cells = run.at * CELL, cell_len(run.text)
        boxes.append(
            f'<rect x="{x:.5g}" y="{y * LINE:.5g}" width="{cells * CELL + 0.3:.5g}" height="{LINE + 0.3:.5g}"'
            f' fill="{run.background}"/>'
        )
        names = "".join(name for name, on in zip("biu", (run.bold, run.italic, run.underlined), strict=True) if on)
        style = f' class="{" ".join(names)}"' if names else ""
        words += [
            f'<text{style} x="{x + CELL * cell_len(run.text[: word.start()]):.5g}" y="{y * LINE + 18.5:.5g}"'
            f' textLength="{CELL * cell_len(word[0]):.5g}" fill="{run.color}">'
            f"{html.escape(word[0], quote=False)}</text>"
            for word in _WORDS.finditer(run.text)
        ]
    return "".join(boxes + words) + "\n"
