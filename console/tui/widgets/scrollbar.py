"""The bar beside a long list: Textual's own, but painted in one go and not as a widget of so many styled lines."""

from __future__ import annotations

from typing import Any, Self, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class TreeScrollbar(ScrollBar):
    """A vertical bar; it has no border and no padding."""

    _strips: list[Strip] | None = None

    def refresh(self, *regions: Region, **how: Any) -> Self:
        self._strips = None
        return super().refresh(*regions, **how)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips = None

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._strips is None:
            self._strips = self._paint()
        return self._strips[crop.y : crop.bottom]

    def _paint(self) -> list[Strip]:
        bar = cast(ScrollBarRender, self.render())
        style = cast(Style, bar.style)
        assert style.color is not None
        assert style.bgcolor is not None
        drawn: list[Segment] = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=bar.thickness,
            back_color=style.bgcolor,
            bar_color=style.color,
        ).segments
        segments = list(Segment.apply_style(drawn, self.rich_style))
        for line_filter in self.get_line_filters():
            segments = line_filter.apply(segments, self.background_colors[1])
        strips = {segment: Strip([segment], bar.thickness) for segment in segments}  # a few, each many times
        return [strips[segment] for segment in segments]
