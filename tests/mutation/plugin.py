"""Pytest plugin: write which tests were collected and how each ended.

``reach.py`` copies it beside the checkout.
"""

import contextlib
import json
import os
import sys
from pathlib import Path

import pytest

_FILE = {"name": ""}
_ENDED: dict[str, tuple[str, float]] = {}


def _write(line: object) -> None:
    with Path(os.environ["MUTATION_REPORT"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly:
        for item in session.items:
            _write([item.nodeid, "collected", 0.0])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Empty the caches before each file.

    Each file then reaches the code that fills them.
    """
    if "MUTATION_PROBES" in os.environ and _FILE["name"] != str(item.path):
        _FILE["name"] = str(item.path)
        for module in [m for name, m in sys.modules.items() if name.startswith("queries.")]:
            for value in list(vars(module).values()):
                with contextlib.suppress(AttributeError, TypeError):
                    value.cache_clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:  # the main process gets the reports of all
        return
    outcome, seconds = _ENDED.get(report.nodeid, ("passed", 0.0))
    _ENDED[report.nodeid] = (report.outcome if outcome == "passed" else outcome, seconds + report.duration)
    if report.when == "teardown":
        outcome, seconds = _ENDED.pop(report.nodeid)
        _write([report.nodeid, outcome, round(seconds, 3)])
