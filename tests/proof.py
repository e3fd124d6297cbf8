"""Marks that leave cases and rounds of a test to `make proof`.

``make proof ROUNDS=10`` repeats ten times as often what is random or raced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from queries.contract.builtin import builtin

proof = pytest.mark.proof
CASES = 2  # of a test on a server that `make test` runs
ROUNDS = float(os.environ.get("ROUNDS") or 1)


def repeated(few: int, many: int) -> pytest.MarkDecorator:
    """Give a test the argument ``times``.

    It is ``few`` in `make test`, and ``many`` times ROUNDS in `make proof`.
    """
    more = pytest.param(max(1, round(many * ROUNDS)), marks=proof, id="many")
    return pytest.mark.parametrize("times", [pytest.param(few, id="few"), more])


def most_in_proof(cases: Iterable[Any], tested: int = 1, *, unpacked: bool = True) -> list[Any]:
    """Return cases; all but the first ones have the mark ``proof``.

    A tuple has a value for each of several arguments, unless it is not ``unpacked``.
    """
    return [each if at < tested else _left(each, unpacked) for at, each in enumerate(cases)]


def one_in(number: int, cases: Iterable[Any], *, unpacked: bool = True) -> list[Any]:
    """Return cases; all but one in ``number`` have the mark ``proof``.

    A number that does not divide the choices of an argument keeps each of them, with some of the others.
    """
    return [_left(each, unpacked) if at % number else each for at, each in enumerate(cases)]


def leave_cases(items: Iterable[pytest.Item]) -> None:
    """Mark all but `CASES` cases of each test on a server, spread evenly.

    A test that runs for each engine keeps them all, and so do the drills, which are chosen.
    """
    names = {engine.name for engine in builtin()}
    tests: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("proof") is None and hasattr(item, "callspec"):
            own = names.intersection(v for v in item.callspec.params.values() if isinstance(v, str))
            if "servers" in item.fixturenames and not own and "drills" not in item.path.parts:
                tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        kept = {n * len(cases) // CASES for n in range(CASES)} if len(cases) > CASES else set(range(len(cases)))
        for n, item in enumerate(cases):
            if n not in kept:
                item.add_marker(proof)


def _left(case: Any, unpacked: bool) -> Any:
    return pytest.param(*(case if type(case) is tuple and unpacked else (case,)), marks=proof)
