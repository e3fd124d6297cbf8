"""Textual's stylesheet, which parses everything again whenever a mode is entered: here only where colours changed."""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class CachedStylesheet(Stylesheet):
    """Keeps the parsed rules for as long as the variables in them have the same values."""

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()
