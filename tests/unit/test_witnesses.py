"""Verdicts about owners: what is not known never counts as dead."""

from __future__ import annotations

from typing import Any

import pytest

from queries.change import admit
from queries.db.errors import UnreadableError
from queries.records.action import Verdict

OTHERS = {"n": 3, "starts": [50.0, 150.0, 160.0]}
NONE: dict[str, Any] = {"n": 0, "starts": []}


def rows(*verdicts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": "a", "witness": f"w{n}", "verdict": v, "detail": "d", **more} for n, v in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("verdicts", "verdict", "summary"),
    [
        (("dead", "dead", "dead"), Verdict.DEAD, "owner is dead: 4 of 4"),
        (("dead", "unknown"), Verdict.DEAD, "owner is dead: 2 of 3 (1 not known)"),
        (("unknown", "unknown"), Verdict.DEAD, "owner seems dead: 1 of 3 (2 not known)"),
        (("dead", "alive"), Verdict.ALIVE, "owner may live: 1 of 3"),
    ],
)
def test_verdicts_without_other_sessions(verdicts: tuple[str, ...], verdict: Verdict, summary: str) -> None:
    owner = admit.judged_owners(rows(*verdicts), NONE, {})["a"]
    assert (owner.verdict, owner.summary) == (verdict, summary)


def test_unknown_never_counts_as_dead() -> None:
    owner = admit.judged_owners(rows("unknown", "unknown"), OTHERS, {"a": ""})["a"]
    assert (owner.verdict, owner.summary) == (Verdict.UNKNOWN, "owner not known: 0 of 4 (4 not known)")


def test_sessions_are_compared_with_the_time_at_which_the_owner_took_it() -> None:
    owner = admit.judged_owners(rows("dead", since=100.0), OTHERS, {})["a"]
    assert "1 began before the owner took it" in next(w.detail for w in owner.witnesses if w.name == "sessions")
    hidden = admit.judged_owners(rows("dead", since=100.0), {"n": 1, "starts": [None]}, {})["a"]
    assert "began" not in next(w.detail for w in hidden.witnesses if w.name == "sessions")


def test_an_engine_whose_owners_lock_their_rows_says_so_itself() -> None:
    own = [{"id": "a", "witness": "row lock", "verdict": "dead", "detail": "an executor locks the row while it works"}]
    owner = admit.judged_owners(own, OTHERS, {"a": ""})["a"]
    assert [w.verdict for w in owner.witnesses if w.name == "row lock"] == [Verdict.DEAD]


def test_an_invalid_verdict_is_named() -> None:
    with pytest.raises(UnreadableError, match="witnesses"):
        admit.judged_owners(rows("perhaps"), OTHERS, {})
