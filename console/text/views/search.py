"""Lines about a search: where it looked, and what was capped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from queries.contract.detect import Declined
from queries.read.search import MOST_IDS, Sought
from queries.records.node import Hits
from queries.text.safe_text import lost_bytes


def notes(
    query: Sought,
    answers: Sequence[Hits],
    declined: Iterable[Declined] = (),
    waiting: Sequence[str] = (),
    larger: str = "",
) -> Iterator[str]:
    """Yield what was searched for, where, and how far.

    ``declined``: schemas that cannot be used. ``waiting``: engines that have not answered.
    ``larger``: what searches large values, too.
    """
    if query.capped:
        yield f"The text has more ids; only the first {MOST_IDS} were searched for."
    if query.exact and len(query.ids) > 1:
        yield f"Ids in the text: {', '.join(query.ids)}."
    if read := [answer.engine for answer in answers if not answer.unreadable]:
        yield f"Searched by id: {', '.join(read)}."
    if waiting:
        yield f"No answer yet: {', '.join(waiting)}."
    for each in declined:
        yield f"Not searched: {each.engine} in {each.schema}: {each.why}."
    for answer in answers:
        yield from limits(answer)
    if larger and any(answer.partial for answer in answers):
        yield f"{larger} searches the large values, too."
    if query.unsearched and read:
        yield f"Titles, errors and payloads were not searched: {query.unsearched}."
    if not any(answer.hits for answer in answers) and (why := lost_bytes(" ".join(query.ids))):
        yield why


def limits(answer: Hits) -> Iterator[str]:
    """Yield what was searched in an engine, and how far."""
    if answer.unreadable:
        yield f"Not searched: {answer.engine}: {answer.unreadable}"
    if answer.capped:
        yield f"There is more in {answer.engine}: only the first {len(answer.hits)} are listed."
    if answer.searched:
        yield f"Searched in {answer.engine}: {answer.searched}."
    elif answer.unsearched:
        yield f"Texts not searched in {answer.engine}: {answer.unsearched}"
