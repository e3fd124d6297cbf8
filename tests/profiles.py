"""Hypothesis profiles, without a deadline.

``test`` is the default. ``check`` has few examples, for ``make check``.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("test", deadline=None)
settings.register_profile("check", deadline=None, max_examples=10, stateful_step_count=15)
settings.load_profile("test")


def stateful(examples: int, steps: int) -> settings:
    """Return settings of a state machine. The profile ``check`` keeps its own figures."""
    if settings.default.max_examples < 100:
        return settings()
    return settings(max_examples=examples, stateful_step_count=steps)
