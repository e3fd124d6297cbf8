"""The line above a list of incidents."""

from __future__ import annotations

from console.text.pages.news import news
from console.text.spans import text
from queries.records.action import Proof
from queries.records.finding import Finding, Incident

AT = 100_000.0


def incident(key: str, *, since: float | None, n: int = 1, capped: bool = False) -> Incident:
    finding = Finding(
        engine="oban",
        node_id="oban/job:1",
        code=key,
        title=key,
        sentence="",
        severity=5,
        proof=Proof.VERIFIED,
        since=since,
    )
    return Incident(
        key=key, engine="oban", code=key, title=key, sentence="", severity=5, proof=Proof.VERIFIED, n=n, capped=capped,
        since=since, findings=(finding,), about="timeout",
    )  # fmt: skip


def test_it_says_what_is_new_what_grows_and_how_many_are_old() -> None:
    found = [
        incident("failed", since=AT - 120, n=500, capped=True),
        incident("late", since=AT - 9_000, n=8),
        *(incident(f"old {n}", since=AT - 5_000) for n in range(3)),
        incident("hour", since=AT - 2_000),
        incident("ever", since=None),
    ]
    assert text(news(found, AT, {"late": 6, "old 1": 0})) == (
        "new: failed timeout 500+ jobs, 2m00s   growing: late timeout 8 jobs, +6   3 unchanged for more than 1h"
    )


def test_it_names_two_of_a_sort() -> None:
    found = [incident(f"new {n}", since=AT - 60) for n in range(4)]
    assert text(news(found, AT)).endswith("new 1 timeout 1 job, 1m00s and 2 more")


def test_without_news_there_is_no_line() -> None:
    assert news([incident("hour", since=AT - 2_000)], AT) == []
    assert news([], AT) == []
