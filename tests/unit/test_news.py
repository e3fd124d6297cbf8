"""The line above a list of incidents."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from console.model.incident_list import IncidentHistory, Trend
from console.text.spans import text
from console.text.views.incidents import size, symptoms
from console.text.views.news import news, unchanged
from queries.records.action import Proof
from queries.records.finding import HIDDEN_ROWS, Finding, Incident, ManySchemas, SkippedFinding, Symptom

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


def test_what_is_new_grows_and_is_old() -> None:
    found = [
        incident("failed", since=AT - 120, n=500, capped=True),
        incident("late", since=AT - 9_000, n=8),
        *(incident(f"old {n}", since=AT - 5_000) for n in range(3)),
        incident("hour", since=AT - 2_000),
        incident("ever", since=None),
    ]
    assert text(news(found, AT, {"late": 6, "old 1": 0})) == (
        "new: failed timeout 500+ jobs, 2m00s   growing: late timeout 8 jobs, +6"
    )
    assert unchanged(found, AT, {"late": 6, "old 1": 0}) == "3 unchanged for more than 1h"


def test_it_names_the_worst_of_a_sort() -> None:
    found = [incident(f"new {n}", since=AT - 60) for n in range(4)]
    assert text(news(found, AT)) == "new: new 0 timeout 1 job, 1m00s and 3 more"


def test_no_part_of_a_sentence_is_left_where_there_is_no_number() -> None:
    lock = replace(incident("lock", since=AT - 60, n=0), about=f"pid 7 {'of a long application ' * 3}")
    assert text(news([lock], AT)) == "new: lock pid 7 of a long application of a long a…, 1m00s"
    symptom = Symptom(engine="oban", code="late", title="engine not read", n=1)
    assert symptoms(replace(lock, symptoms=(symptom,))) == "leads to 1 × engine not read"
    recurring = replace(lock.findings[0], node_id="solid_queue/recurring:a")
    assert size(replace(lock, n=2, findings=(recurring,))) == "2 recurring nodes"


def test_it_names_the_key_that_goes_there() -> None:
    assert text(news([incident("new", since=AT - 60)], AT, {}, "n")).startswith("new (n): new timeout")
    assert text(news([incident("more", since=AT - 2_000)], AT, {"more": 1}, "n")).startswith("growing (n): more")


def test_without_news_there_is_no_line() -> None:
    assert news([incident("hour", since=AT - 2_000)], AT) == []
    assert news([], AT, {}, "n") == []
    assert unchanged([], AT) == ""


def test_a_cause_in_many_schemas_grows_with_any_of_them() -> None:
    history = IncidentHistory()
    keys = [f"oban@{name}/late" for name in "abc"]

    def seen(at: float, *numbers: int) -> None:
        history.add(at, [incident(key, since=AT, n=n) for key, n in zip(keys, numbers, strict=True)])

    many = ManySchemas(**asdict(incident("oban@*/late", since=AT)), labels=("oban@a", "oban@b", "oban@c"))
    seen(AT, 1, 1, 1)
    assert (history.trend(many), history.first_seen(many)) == (Trend.NEW, AT)
    seen(AT + 200, 1, 5, 1)
    assert (history.growth([many]), history.trend(many)) == ({many.key: 4}, Trend.GROWING)
    seen(AT + 400, 0, 1, 1)
    assert history.trend(many) is Trend.SHRINKING
    assert history.trend(incident("other", since=AT)) is Trend.NEW


def test_an_incident_that_policies_may_hide_or_that_was_not_looked_for_is_not_resolved() -> None:
    history = IncidentHistory()
    old = incident("demo/late", since=AT)
    history.add(AT, [old])
    for n, code in enumerate((HIDDEN_ROWS, old.code), 1):
        history.add(AT + n, [], [SkippedFinding(engine=old.engine, code=code, why="")])
        assert history.resolved == {}
    history.add(AT + 3, [], [SkippedFinding(engine="other", code=HIDDEN_ROWS, why="")])
    assert list(history.resolved) == [old.key]
