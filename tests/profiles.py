"""Hypothesis profiles, without a deadline.

``test`` is the default, and always tries the same examples. ``check`` has few of them, for `make check`. ``proof`` has
many, which differ from run to run.
"""

from __future__ import annotations

from hypothesis import settings

from tests.proof import ROUNDS

settings.register_profile("test", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("check", deadline=None, derandomize=True, max_examples=10, stateful_step_count=15)
settings.register_profile("proof", deadline=None, max_examples=round(1000 * ROUNDS), print_blob=True)
settings.load_profile("test")


def stateful(examples: int, steps: int) -> settings:
    """Return settings of a state machine.

    The profiles ``check`` and ``proof`` keep their own number of examples.
    """
    if settings.default.max_examples != settings.get_profile("test").max_examples:
        return settings(stateful_step_count=min(steps, settings.default.max_examples))
    return settings(max_examples=examples, stateful_step_count=steps)
