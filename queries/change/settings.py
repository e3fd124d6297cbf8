"""Settings of a redrive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from queries.records.record import Record
from queries.text import duration

COHORTS = (1, 5, 25)
COHORT_NODES = 500  # nodes of a cohort: one transaction, so that each has one audit log entry
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}  # of a pace


class Budget(Record):
    """Deaths that a redrive may cause: a number, or a percentage of the revived nodes."""

    count: int | None = None
    percent: float | None = None

    def allows(self, deaths: int, revived: int) -> bool:
        """Return True if that many of the revived nodes may have died."""
        if self.count is not None:
            return deaths <= self.count
        return deaths * 100 <= (self.percent or 0.0) * revived


class Pace(Record):
    """At most ``nodes`` are revived in any ``seconds``."""

    nodes: int
    seconds: float


class RedriveSettings(Record):
    """Settings of a redrive.

    ``cohorts``: sizes of the first cohorts; later ones double, up to `COHORT_NODES`. ``wait``: seconds to
    wait for the answers of a cohort.
    """

    budget: Budget
    cohorts: tuple[int, ...] = COHORTS
    pace: Pace | None = None
    wait: float = 30.0


class SettingError(ValueError):
    """A setting cannot be read. ``name``: of the setting."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}{why}")
        self.name = name


def parse_settings(cohorts: str, pace: str, budget: str, wait: str) -> RedriveSettings:
    """Return the settings as an operator types them.

    Raises SettingError.
    """
    sizes_given = tuple(map(int, cohorts.split(","))) if re.fullmatch(r"(?a)\d{1,3}(,\d{1,3})*", cohorts) else (0,)
    if not 0 < min(sizes_given) <= max(sizes_given) <= COHORT_NODES:
        raise SettingError("cohorts", f" {cohorts!r}: write sizes from 1 to {COHORT_NODES}, such as 1,5,25.")
    paced = re.fullmatch(r"(?a)([1-9]\d{0,6})/(s|min|h)", pace)
    if pace and paced is None:
        raise SettingError("pace", f" {pace!r}: write a number per s, min or h, such as 60/min.")
    limit = re.fullmatch(r"(?a)(\d{1,6})|(\d{1,2}(?:\.\d{1,3})?|100)%", budget)
    if limit is None:
        raise SettingError("budget", f" {budget!r}: write a number or a percentage, such as 3 or 10%.")
    try:
        seconds = duration.parse(wait)
    except ValueError as error:
        raise SettingError("wait", f": {error}.") from None
    return RedriveSettings(
        budget=Budget(count=int(limit[1])) if limit[1] else Budget(percent=float(limit[2])),
        cohorts=sizes_given,
        pace=None if paced is None else Pace(nodes=int(paced[1]), seconds=UNITS[paced[2]]),
        wait=seconds,
    )


def sizes(total: int, first: Sequence[int]) -> list[int]:
    """Return the sizes of the cohorts of ``total`` nodes."""
    cohorts: list[int] = []
    while (rest := total - sum(cohorts)) > 0:
        size = first[len(cohorts)] if len(cohorts) < len(first) else cohorts[-1] * 2
        cohorts.append(min(size, COHORT_NODES, rest))
    return cohorts


def cohorts(ids: Sequence[str], settings: RedriveSettings) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each cohort."""
    start = 0
    for size in sizes(len(ids), settings.cohorts):
        yield tuple(ids[start : start + size])
        start += size
