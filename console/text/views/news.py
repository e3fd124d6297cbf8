"""Line above a list of incidents: what is new, what grows, and how many are old."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from console.text import formatting
from console.text.severity import band
from console.text.spans import Spans, between
from console.text.views.incidents import size
from queries.read.incidents import is_new
from queries.records.finding import Incident
from queries.text.safe_text import safe_text

OLD_SECONDS = 3600.0
ABOUT_CHARACTERS = 40


def is_unchanged(incident: Incident, at: float, growth: Mapping[str, int]) -> bool:
    """Return True if an incident is older than an hour, with as many nodes as before."""
    return incident.since is not None and at - incident.since >= OLD_SECONDS and not growth.get(incident.key)


def is_news(incident: Incident, at: float, growth: Mapping[str, int]) -> bool:
    """Return True if an incident is new or grows."""
    return growth.get(incident.key, 0) > 0 or is_new(incident, at)


def news(incidents: Iterable[Incident], at: float, growth: Mapping[str, int] = {}, key: str = "") -> Spans:
    """Return what is new and what grows; empty if there is nothing.

    ``at``: server time. ``growth``: by key of an incident, how many nodes it has more than before. ``key``: the key
    that goes to the next of them, "" for none.
    """
    every = list(incidents)
    growing = [each for each in every if growth.get(each.key, 0) > 0]
    new = [each for each in every if is_new(each, at) and each not in growing]
    word = f" ({key})" if key else ""
    parts = (
        _named(f"new{word}", new, lambda each: formatting.since(each.since, at)),
        _named("growing" if new else f"growing{word}", growing, lambda each: f"+{growth[each.key]}"),
    )
    return between(filter(None, parts), "   ")


def unchanged(incidents: Iterable[Incident], at: float, growth: Mapping[str, int] = {}) -> str:
    """Return how many are unchanged for an hour, "" for none."""
    n = sum(is_unchanged(each, at, growth) for each in incidents)
    return f"{n} unchanged for more than 1h" if n else ""


def _named(word: str, incidents: list[Incident], more: Callable[[Incident], str]) -> Spans:
    if not incidents:
        return []
    first = incidents[0]
    about = first.about if len(first.about) <= ABOUT_CHARACTERS else f"{first.about[: ABOUT_CHARACTERS - 1]}…"
    what = safe_text(f"{first.title} {about}".strip())
    others = f" and {len(incidents) - 1} more" if len(incidents) > 1 else ""
    numbers = f"{' ' * bool(size(first))}{size(first)}, {more(first)}{others}"
    return [(f"{word}: ", "bold"), (what, f"bold {band(first.severity).ink}"), (numbers, "")]
