"""Rules of a redrive: cohorts, budget, pace, answers."""

from __future__ import annotations

import pytest

from queries.change.redrive import Sign, judge
from queries.change.state import (
    COHORT_NODES,
    AskReason,
    Budget,
    Do,
    Event,
    Kind,
    Pace,
    Reason,
    RedriveSettings,
    State,
    Step,
    cohorts,
    go_on,
    sizes,
)
from queries.db.errors import DatabaseError
from queries.records.action import Answer, Change, Outcome, Result
from queries.records.node import Phase
from queries.records.run import WatchedMember

TEN_PERCENT = RedriveSettings(budget=Budget(percent=10.0), wait=30.0)
MEMBER = WatchedMember(
    id="e/job:1", version="v", title="t", target="e/job:1", attempt="a", marks=("failed: boom", "boom")
)


def ids(number: int) -> list[str]:
    return [f"e/job:{n}" for n in range(number)]


def redrive(number: int, settings: RedriveSettings) -> State:
    return State(cohorts(ids(number), settings), settings)


def revived(state: State, at: float, **outcomes: Outcome) -> Step:
    """Change what the next step names, and return that step."""
    step = state.next(at)
    assert step.do is Do.CHANGE
    results = tuple(Result(id=i, outcome=outcomes.get(i.partition(":")[2], Outcome.CHANGED)) for i in step.ids)
    state.add(at, Event(event=Kind.CHANGED, cohort=step.part), Change(results=results))
    return step


def close(state: State, at: float) -> None:
    step = state.next(at)
    assert step.do is Do.RECORD
    assert step.event is not None
    state.add(at, step.event)


def test_cohorts_double_after_those_given() -> None:
    assert sizes(200, (1, 5, 25)) == [1, 5, 25, 50, 100, 19]
    assert sizes(3, (1, 5, 25)) == [1, 2]
    assert sizes(0, (1, 5, 25)) == []
    assert max(sizes(10_000, (1, 5, 25))) == COHORT_NODES
    assert sum(sizes(10_000, (1, 5, 25))) == 10_000


def test_the_next_cohort_begins_when_all_have_an_answer() -> None:
    state = redrive(40, TEN_PERCENT)
    assert revived(state, 0.0).ids == ("e/job:0",)
    assert state.next(10.0) == Step(Do.WATCH, seconds=20.0)
    state.observe({"e/job:0": Answer.ALIVE})
    assert state.next(10.0).do is Do.WATCH, "to be taken is no answer"
    state.observe({"e/job:0": Answer.MOVED_ON})
    close(state, 11.0)
    assert revived(state, 11.0).ids == tuple(ids(6)[1:])


def test_a_cohort_without_answer_asks_and_never_goes_on_alone() -> None:
    state = redrive(10, TEN_PERCENT)
    revived(state, 0.0)
    ask = state.next(30.0)
    assert ask == Step(Do.ASK, 0, ("e/job:0",), question=AskReason.NO_ANSWER)
    assert state.next(1e9).do is Do.ASK
    state.add(40.0, go_on(ask))
    assert state.next(40.0) == Step(Do.WATCH, seconds=30.0), "going on is a longer wait, no answer"
    assert state.next(70.0).do is Do.ASK


def test_a_late_answer_settles_the_question() -> None:
    state = redrive(10, TEN_PERCENT)
    revived(state, 0.0)
    assert state.next(31.0).do is Do.ASK
    state.observe({"e/job:0": Answer.FINISHED})
    assert state.next(32.0).do is Do.RECORD


@pytest.mark.parametrize(
    ("budget", "deaths", "stops"),
    [
        (Budget(count=3), 3, False),
        (Budget(count=3), 4, True),
        (Budget(count=0), 0, False),
        (Budget(count=0), 1, True),
        (Budget(percent=50.0), 3, False),
        (Budget(percent=50.0), 4, True),
    ],
)
def test_it_stops_when_deaths_pass_the_budget(budget: Budget, deaths: int, stops: bool) -> None:
    state = redrive(6, RedriveSettings(budget=budget))
    revived(state, 0.0)
    state.observe({"e/job:0": Answer.FINISHED})
    close(state, 1.0)
    revived(state, 1.0)
    state.observe({f"e/job:{n}": Answer.SAME_DEATH for n in range(1, deaths + 1)})
    step = state.next(2.0)
    assert (step.event == state.end(Reason.BUDGET).event) is stops


def test_a_death_of_something_else_is_not_in_the_budget_but_asks() -> None:
    state = redrive(40, RedriveSettings(budget=Budget(count=0)))
    revived(state, 0.0)
    state.observe({"e/job:0": Answer.OTHER_DEATH})
    close(state, 1.0)
    ask = state.next(1.0)
    assert ask == Step(Do.ASK, 1, ("e/job:0",), question=AskReason.OTHER_DEATHS)
    state.add(2.0, go_on(ask))
    revived(state, 2.0)
    state.observe({**{f"e/job:{n}": Answer.FINISHED for n in range(1, 5)}, "e/job:5": Answer.OTHER_DEATH})
    close(state, 3.0)
    assert state.next(3.0).do is Do.ASK, "one more than was accepted"


def test_an_unknown_outcome_is_the_operators_decision() -> None:
    state = redrive(2, TEN_PERCENT)
    revived(state, 0.0)
    state.observe({"e/job:0": Answer.UNKNOWN})
    ask = state.next(1.0)
    assert ask == Step(Do.ASK, 0, ("e/job:0",), question=AskReason.UNKNOWN)
    state.add(2.0, go_on(ask))
    close(state, 2.0)
    assert revived(state, 2.0).ids == ("e/job:1",)
    assert state.answers["e/job:0"] is Answer.UNKNOWN


def test_a_final_answer_stays() -> None:
    """A finished node may die later, which is no answer to the redrive."""
    state = redrive(8, TEN_PERCENT)
    revived(state, 0.0)
    state.observe({"e/job:0": Answer.FINISHED})
    state.observe({"e/job:0": Answer.SAME_DEATH})
    assert state.answers == {"e/job:0": Answer.FINISHED}


def test_nodes_that_moved_on_are_still_watched() -> None:
    state = redrive(8, RedriveSettings(budget=Budget(count=0)))
    revived(state, 0.0)
    state.observe({"e/job:0": Answer.MOVED_ON})
    close(state, 1.0)
    revived(state, 1.0)
    assert "e/job:0" in state.watched()
    state.observe({"e/job:0": Answer.SAME_DEATH})
    assert state.next(2.0) == state.end(Reason.BUDGET)


def test_the_pace_splits_a_cohort() -> None:
    state = redrive(30, RedriveSettings(budget=Budget(count=0), cohorts=(25,), pace=Pace(nodes=10, seconds=60.0)))
    assert len(revived(state, 0.0).ids) == 10
    assert state.next(20.0) == Step(Do.WATCH, seconds=40.0)
    assert len(revived(state, 60.0).ids) == 10
    assert len(revived(state, 120.0).ids) == 5
    assert state.next(121.0) == Step(Do.WATCH, seconds=29.0), "the wait begins with the last part"


def test_skipped_nodes_are_named_and_not_tried_again() -> None:
    state = redrive(6, TEN_PERCENT)
    revived(state, 0.0, **{"0": Outcome.STALE})
    second = revived(state, 0.0, **{"3": Outcome.LOCKED})
    assert second.part == 1
    assert {r.id: r.outcome for r in state.skipped} == {"e/job:0": Outcome.STALE, "e/job:3": Outcome.LOCKED}


@pytest.mark.parametrize("cohort", [-1, 4, 99])
def test_an_entry_of_a_cohort_that_does_not_exist_is_refused(cohort: int) -> None:
    state = redrive(40, TEN_PERCENT)
    with pytest.raises(DatabaseError, match=f"names a cohort that it does not have: {cohort}"):
        state.add(1.0, Event(event=Kind.JUDGED, cohort=cohort))


@pytest.mark.parametrize(
    ("sign", "answer"),
    [
        (Sign(phase=Phase.DONE, attempt="b", dead=False), Answer.FINISHED),
        (Sign(phase=Phase.RUNNING, attempt="b", dead=False), Answer.ALIVE),
        (Sign(phase=Phase.READY, attempt="b", dead=False), Answer.NO_ANSWER),
        (Sign(phase=Phase.CANCELLED, attempt="b", dead=False), Answer.UNKNOWN),
        (Sign(phase=Phase.RUNNING, attempt="b", dead=False, moved=True), Answer.MOVED_ON),
        (Sign(phase=Phase.FAILED, attempt="b", dead=True, marks=("boom",)), Answer.SAME_DEATH),
        (Sign(phase=Phase.FAILED, attempt="b", dead=True, marks=("disk full",)), Answer.OTHER_DEATH),
        (Sign(phase=Phase.FAILED, attempt="a", dead=True, marks=("boom",)), Answer.NO_ANSWER),
        (None, Answer.UNKNOWN),
    ],
)
def test_progress_decides_not_status(sign: Sign | None, answer: Answer) -> None:
    assert judge(MEMBER, sign, MEMBER.marks, gone=Answer.UNKNOWN) is answer


def test_a_row_that_is_gone_is_a_success_only_where_the_engine_deletes_on_success() -> None:
    assert judge(MEMBER, None, (), gone=Answer.FINISHED) is Answer.FINISHED
