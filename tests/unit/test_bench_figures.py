"""The table of the benches, with figures that could not be measured."""

from __future__ import annotations

import statistics

from tests.bench.figure import Figure, measured, step, table


def test_a_figure_that_cannot_be_measured_says_why() -> None:
    figures = [
        measured("lost", lambda: statistics.fmean([]), 2.0),
        Figure("kept", 1.0, 2.0),
        Figure("missed", 3.0, 2.0),
    ]
    _, lost, kept, missed = table(figures).splitlines()
    assert "lost" in lost
    assert "not measured: StatisticsError: fmean requires at least one data point" in lost
    assert kept.endswith("kept")
    assert missed.endswith("missed")


def test_a_step_that_fails_costs_its_own_figures_only() -> None:
    def fails() -> list[Figure]:
        raise RuntimeError("no server")

    figures = step("large tables", fails) + step("tree", lambda: [Figure("a key", 1.0, 2.0)])
    assert [figure.missing for figure in figures] == ["RuntimeError: no server", ""]
