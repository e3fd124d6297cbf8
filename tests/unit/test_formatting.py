"""Values as words: compact, honest, and unable to harm a terminal."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import hypothesis.strategies as st
import pytest
from hypothesis import given

from console.text import formatting
from console.text.ascii import to_ascii
from queries.records.node import Count, Phase, Precision
from queries.text.safe_text import safe_text

HOUR, DAY, YEAR = 3600, 86_400, 365 * 86_400
SECONDS = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-1e10, 1e10) | st.none()


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (None, "–"),
        (0, "0s"),
        (45.9, "45s"),
        (192, "3m12s"),
        (2 * HOUR + 300, "2h05m"),
        (12 * DAY + 4 * HOUR, "12d04h"),
        (100 * DAY, "100d"),
        (3 * YEAR, "3y"),
        (1e12, ">999y"),
        (1e300, ">999y"),
        (-0.5, "0s"),
        (-200, "-3m"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "?"),
    ],
)
def test_age(seconds: float | None, says: str) -> None:
    assert formatting.age(seconds) == says


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (None, "–"),
        (0, "0s"),
        (1e-9, "<1µs"),
        (850e-6, "850µs"),
        (999.6e-6, "1ms"),
        (12.34e-3, "12.3ms"),
        (0.9996, "1s"),
        (1.234, "1.23s"),
        (59.97, "1m00s"),
        (65, "1m05s"),
        (-1, "-1s"),
        (math.inf, "inf"),
    ],
)
def test_duration(seconds: float | None, says: str) -> None:
    assert formatting.duration(seconds) == says


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (None, "–"),
        (250, "in 4m"),
        (-12, "12s late"),
        (-0.2, "0s late"),
        (math.inf, "never"),
        (-math.inf, "inf late"),
        (math.nan, "?"),
    ],
)
def test_due(seconds: float | None, says: str) -> None:
    assert formatting.due(seconds) == says


@given(SECONDS)
def test_times_fit_their_columns(seconds: float | None) -> None:
    assert len(formatting.age(seconds)) <= 6
    assert len(formatting.age(seconds, 1)) <= 6
    assert len(formatting.duration(seconds)) <= 6
    assert len(formatting.due(seconds)) <= 10
    assert formatting.instant(seconds)


@pytest.mark.parametrize(
    ("epoch", "says"),
    [
        (None, "–"),
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399.9, "2000-02-28T23:59:59Z"),
        (253_402_300_800, "10000-01-01T00:00:00Z"),
        (9_224_318_015_999, "294276-12-31T23:59:59Z"),
        (-62_135_596_801, "0001-12-31T23:59:59Z BC"),
        (-63_517_824_000, "0044-03-15T00:00:00Z BC"),
        (math.inf, "infinity"),
        (-math.inf, "-infinity"),
        (math.nan, "?"),
    ],
)
def test_instant(epoch: float | None, says: str) -> None:
    assert formatting.instant(epoch) == says


@given(st.datetimes(timezones=st.just(UTC)))
def test_instant_agrees_with_datetime(moment: datetime) -> None:
    whole = moment.replace(microsecond=0)
    assert formatting.instant(whole.timestamp()) == f"{whole.year:04}-" + whole.strftime("%m-%dT%H:%M:%SZ")


def test_glyphs_are_one_cell_and_differ_by_phase() -> None:
    plain = [to_ascii(formatting.GLYPHS[phase]) for phase in Phase]
    for glyphs in ([formatting.GLYPHS[phase] for phase in Phase], plain):
        assert len(set(glyphs)) == len(Phase)
        assert all(formatting.width(glyph) == 1 for glyph in glyphs)
    assert all(map(str.isascii, plain))


@pytest.mark.parametrize(
    ("text", "cells", "says"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("any", 0, ""),
        ("any", 1, "…"),
    ],
)
def test_crop(text: str, cells: int, says: str) -> None:
    assert formatting.crop(text, cells) == says


@given(st.text(), st.integers(0, 20), st.sampled_from(["left", "right"]))
def test_fit_is_exact(text: str, cells: int, align: formatting.Align) -> None:
    assert formatting.width(formatting.fit(safe_text(text), cells, align)) == cells


def test_a_huge_text_is_cropped_without_being_measured() -> None:
    assert formatting.crop("日" * 10_000_000, 10) == "日日日日…"


@pytest.mark.parametrize(
    ("part", "whole", "says", "ascii"),
    [
        (None, 1.0, "–", "–"),
        (1.0, None, "–", "–"),
        (0.0, 0.0, "–", "–"),
        (0.0, 1.0, "    ", "...."),
        (1.0, 2.0, "██  ", "##.."),
        (1.0, 3.0, "█▍  ", "#..."),
        (9.0, 3.0, "████", "####"),
        (math.nan, 3.0, "–", "–"),
    ],
)
def test_bar(part: float | None, whole: float | None, says: str, ascii: str) -> None:
    assert formatting.bar(part, whole, 4) == says
    assert formatting.bar(part, whole, 4, ascii=True) == ascii


@pytest.mark.parametrize(
    ("n", "precision", "says"),
    [
        (12, Precision.EXACT, "12"),
        (1_234_567, Precision.EXACT, "1234567"),
        (1_234_567, Precision.ESTIMATED, "≈1.2M"),
        (0, Precision.ESTIMATED, "≈0"),
        (10_000, Precision.CAPPED, "10k+"),
        (999_999, Precision.CAPPED, "1M+"),
        (999, Precision.CAPPED, "999+"),
        (None, Precision.UNKNOWN, "?"),
        (None, Precision.EXACT, "?"),
    ],
)
def test_count(n: int | None, precision: Precision, says: str) -> None:
    assert formatting.count(Count(phase=Phase.READY, n=n, precision=precision)) == says


@given(st.integers(0, 10**15))
def test_short_numbers_are_short(number: int) -> None:
    assert len(formatting.short(number)) <= 5


def test_plain_is_ascii() -> None:
    for word in (
        formatting.NONE,
        formatting.duration(1e-6),
        formatting.count(Count(phase=Phase.DONE, n=5, precision=Precision.ESTIMATED)),
    ):
        assert to_ascii(word).isascii()


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("send_confirmation +2", 20, "send_confirmation +2"),
        ("send_confirmation +2", 18, "send_confirmat… +2"),
        ("fulfil_order v1.2.0 · 3/6", 20, "fulfil_order v1… 3/6"),
        ("send_confirmation +2", 12, "send_confir…"),
        ("Café helper · 1 unfinished", 20, "Café helper · 1 unf…"),
        ("a " + "1" * 30, 20, "a 11111111111111111…"),
        ("漢字漢字漢字漢字漢字漢字 +1", 19, "漢字漢字漢字漢… +1"),
    ],
)
def test_a_number_at_the_end_of_a_title_stays(text: str, cells: int, shown: str) -> None:
    assert formatting.shorten(text, cells) == shown
    assert formatting.width(shown) <= cells


@given(st.text(max_size=60), st.integers(0, 80))
def test_a_shortened_title_fits(text: str, cells: int) -> None:
    assert formatting.width(formatting.shorten(safe_text(text), cells)) <= cells


@pytest.mark.parametrize(
    ("times", "past", "future"),
    [
        (formatting.Times.RELATIVE, ["3m12s", "9h00m", "1y"], "in 5m"),
        (formatting.Times.UTC, ["08:56:48Z", "11-22 00:00Z", "2025-10-18"], "09:05:00Z"),
    ],
)
def test_a_time_in_a_list(times: formatting.Times, past: list[str], future: str) -> None:
    now = datetime(2026, 11, 22, 9, tzinfo=UTC).timestamp()
    formatting.show_times(times)
    try:
        said = [formatting.since(now - seconds, now) for seconds in (192, 9 * HOUR, 400 * DAY)]
        said[1] = said[1] if times is formatting.Times.RELATIVE else formatting.since(now - 9 * HOUR, now + DAY)
        assert said == past
        bounds = [formatting.since(now - 192, now, bound) for bound in "≥≤"]
        assert bounds == (["≥3m", "≤3m"] if times is formatting.Times.RELATIVE else [f"≤{past[0]}", f"≥{past[0]}"])
        assert (formatting.since(now - 0.4, now) == "now") == (times is formatting.Times.RELATIVE)
        assert formatting.until(now + 300, now) == future
        assert {formatting.since(None, now), formatting.until(None, now)} == {formatting.NONE}
    finally:
        formatting.show_times(formatting.Times.RELATIVE)


def test_of_a_label_the_schema_remains() -> None:
    labels = ["oban@tenant_17", "oban", "graphile_worker@tenant_17", "solid_queue@a_long_schema_of_tenant_17"]
    assert [formatting.engine_label(label, 12) for label in labels] == [
        "o…@tenant_17", "oban", "g…@tenant_17", "…f_tenant_17"
    ]  # fmt: skip
    assert [formatting.engine_label(label, 14) for label in labels[:2]] == ["oban@tenant_17", "oban"]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("85:14", "#85:14"),
        ("dca7afd7-6a2b-4f0e-8d1c-0a1b2c3d4e5f", "#dca7afd7"),
        ("01a22d86-6a2b-7f0e-8d1c-0a1b2c3d4e5f", "#…2c3d4e5f"),  # begins with a time, as others do
        ("16:05:00:67:c6:03:74:00", "#…03:74:00"),
    ],
)
def test_a_short_id_tells_rows_apart(key: str, says: str) -> None:
    assert formatting.short_id(key) == says


def test_bars_of_rates_begin_at_0_and_say_their_scale() -> None:
    assert formatting.course([0, 15, 29.2]) == "▁▅█ 0..30"
    assert formatting.course([None, 12, None, 12]) == "█ █ 0..12", "what was not measured is a gap"
    assert formatting.course([12, 30], ascii=True) == "≈30"
    assert [formatting.course(numbers) for numbers in ([], [None], [0, 0])] == ["", "", "≈0"]
