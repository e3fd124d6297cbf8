"""Sentences of findings, filled with their evidence."""

from __future__ import annotations

import pytest

from queries.read import sentence
from queries.read.blockers import through
from queries.records.lock import LockSession


def test_nothing_is_said_of_a_time_that_was_not_read() -> None:
    text = "2 jobs failed, the last at {failed}: {error}. {owner} took 2 jobs, the first at {taken}, and is silent."
    assert sentence.fill(text, {"error": "x", "owner": "w"}) == "2 jobs failed: x. w took 2 jobs and is silent."
    times = {"failed": "2026-11-23 01:02:03+00", "taken": "noon"}
    assert "the last at 2026-11-23T01:02:03Z: ?. ? took 2 jobs, the first at noon, and" in sentence.fill(text, times)


@pytest.mark.parametrize(
    "value",
    ["-00:06:00", "1 mon 2 days 03:04:05", "00:00:00:00:00:00:00:00", "2026-11-23", "at 00:06:00", 360],
)
def test_other_values_are_written_as_they_are(value: object) -> None:
    assert sentence.fill("{value}", {"value": value}) == str(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("00:00:30", "30s"),
        ("02:05:59.999", "2h05m"),
        ("1 day 02:00:00", "1d02h"),
        ("23049 days 12:04:36", "63y"),
        ("2026-11-27 08:11:19.5+00", "2026-11-27T08:11:19Z"),
        ("2026-11-27T08:11:19+00:00", "2026-11-27T08:11:19Z"),
        ("2026-11-23 11:33:25", "2026-11-23T11:33:25Z"),
        ("294276-12-31 23:59:59.999+00", "294276-12-31T23:59:59Z"),
        ("0044-03-15 00:00:00+00 BC", "0044-03-15T00:00:00Z BC"),
        ("due since 294276-12-31 23:59:59+00, or so", "due since 294276-12-31T23:59:59Z, or so"),
        (", for 00:02:09", ", for 2m09s"),
        ("107 min", "1h47m"),
        ("2.4 s", "2.4s"),
        ("300.0 s", "5m00s"),
        ("0.334 s", "334ms"),
        ("918 ms", "918ms"),
        ("charge_card: 503 after 918 ms", "charge_card: 503 after 918 ms"),
        ("half are overdue for less than 1 day 07:06:34", "half are overdue for less than 1d07h"),
        ("it moved a task 00:00:38 ago", "it moved a task 38s ago"),
        ("due within 01:28:13 or so, half at most 00:51:18", "due within 1h28m or so, half at most 51m18s"),
        ("in 1 day 23:57:59", "in 1d23h"),
        ("09:01:51 late, seen at 2026-11-29 15:05:22.5 UTC.", "9h01m late, seen at 2026-11-29T15:05:22Z."),
        ("idle in transaction since 2026-11-29 01:22:47+00", "idle in transaction since 2026-11-29T01:22:47Z"),
        ("Error: refused at 12:03:04, retry 01:00:00", "Error: refused at 12:03:04, retry 01:00:00"),
    ],
)
def test_a_time_has_one_form_also_within_a_value(value: str, written: str) -> None:
    assert sentence.fill("{value}.", {"value": value}) == f"{written}."


def test_sessions_of_a_deadlock_wait_for_each_other_and_none_for_itself() -> None:
    one, two, three = (LockSession(id=f"server/backend:{n}", pid=n, application="app", role="r") for n in (1, 2, 3))
    assert through([one], [one, two]) == " and waits for pid 2 (app, role r), which waits for it"
    assert through([one], [three]) == " and waits for pid 3 (app, role r)"
    assert through([one, two], [one, two]) == ""


def test_a_missing_value_is_marked() -> None:
    assert sentence.fill("{a} and {b}", {"a": None}) == "? and ?"


def test_a_value_of_an_argument_is_not_changed() -> None:
    assert sentence.fill_argument("{wait}", {"wait": "00:06:00"}) == "00:06:00"


def test_a_time_of_day_is_no_interval() -> None:
    evidence = {"first": "04:24:00", "age": "00:06:00"}
    assert sentence.fill("{age} ago, since {first} UTC", evidence) == "6m00s ago, since 04:24:00 UTC"


def test_a_time_without_a_zone_is_written_as_others_are() -> None:
    text = "due at {due} UTC, the first since {first} UTC"
    evidence = {"due": "2026-11-27 18:51:26.25", "first": "04:24:00"}
    assert sentence.fill(text, evidence) == "due at 2026-11-27T18:51:26Z, the first since 04:24:00 UTC"
    assert sentence.fill(text, {"first": "no time {due} UTC"}) == "due at ? UTC, the first since no time {due} UTC UTC"
