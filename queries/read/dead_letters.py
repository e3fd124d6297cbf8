"""Records of dead letters, grouped by error. No I/O."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from queries.records.dead_letter import DeadLetter, DeadLetters, ErrorSummary, Fate, Group
from queries.records.node import Node, Page
from queries.text.instant import newest_first

ERROR_CHARACTERS = 300  # characters of an error that are compared
FOLDED_CHARACTERS = 200  # characters of the folded error: where an error is cut depends on the ids before it

_QUOTED = r"""(?: "[^"]*(?:"|$) | (?<!\w)[bru]?'[^']*'(?!\w) | `[^`']*[`'] | ‘[^’]*’ | “[^”]*” )"""
_CODE = "attribute|class|column|constant|constraint|function|index|method|module|operator|relation|table|type"
_FILES = "avro|bin|csv|dat|docx?|eml|gif|gz|html?|jpe?g|jsonl?|lock|log|mp[34]|parquet|pdf|png|svg|tar|tgz|tiff?|tmp|"
_FILES += "tsv|txt|webp|xlsx?|xml|ya?ml|zip"
_WORDS = "base64|float\\d|http2|ipv[46]|k8s|log4j|md5|mp[34]|neo4j|oauth2|s3|sha\\d|u?int\\d|utf\\d|win32|x509|x86"
_POD = "bcdfghjklmnpqrstvwxz2456789"  # what Kubernetes makes names of
_VARYING = re.compile(
    rf"""
    (?P<kept> (?i:\b(?:{_CODE})):?\ {_QUOTED} )  # names of code and of tables tell errors apart
    | (?P<address> \b[a-z][a-z0-9+.-]*://[^\s"'`<>(),;]*[^\s"'`<>(),;.:]  # of a page
        | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)* | \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?\b
        | (?<![\w:])\[?(?=[\da-fA-F:.]*::)(?=[a-fA-F:.]*\d)[\da-fA-F:.]+(?:\]:\d+)?(?!\w) )
    | (?P<id> \b[\da-fA-F]{{8}}(?:-[\da-fA-F]{{4}}){{3}}-[\da-fA-F]{{12}}\b
        | \b(?:[\da-fA-F]{{2}}:){{5,7}}[\da-fA-F]{{2}}\b )
    | (?P<text> {_QUOTED} | (?:(?<==)|(?<=row\ contains\ ))\([^)]*(?:\)|$) )
    | (?P<path> (?<![\w<>/.:-])(?:[A-Za-z]:\\|~?/|\.{{1,2}}/)(?=[\w.])[^\s"'`(),;:<>]*[^\s"'`(),;:<>.]
        | (?<![\w.-])[\w.-]+(?:(?:/[\w.-]+)+\.[A-Za-z]\w{{0,4}}\b|(?<=\.)(?:{_FILES})\b) )
    | (?P<time> \b\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|\ ?UTC|\ ?[+-]\d\d(?::?\d\d)?)?)? )
    | (?P<pod> (?<=[a-z\d]-)(?:(?=[a-z]*\d)[a-z\d]{{6,10}}|[{_POD}]{{6,10}})
        -(?:(?=[a-z]*\d)[a-z\d]{{5}}|[{_POD}]{{5}})\b )
    | (?P<n> \b0[xX][\da-fA-F]+\b | (?<!\[)\b(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+\b  # durations
        | \b(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{{6,}}\b | \b(?=[A-F]*\d)(?=\d*[A-F])[\dA-F]{{6,}}\b
        | \b(?!(?i:{_WORDS}))(?:
            [A-Za-z_]*\d+[A-Za-z_]+\d\w{{2,}} | (?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{{6,}} | (?=[a-z]+\d+[a-z])[a-z\d]{{8,}}
            | [a-z]{{2,6}}_(?=[a-z\d]*[A-Z\d])(?=[A-Z]*[a-z\d])[A-Za-z\d]{{10,}} )\b
        | \d+(?:[.,]\d+)* )
    """,
    re.VERBOSE,
)
_DOCUMENT = re.compile(r"""[\[{]\s*["\[{]""")  # in JSON, and perhaps cut
_EXCEPTION = re.compile(r"(?:\*\* \()?((?:[A-Za-z_]\w*(?:::|\.))+[A-Z]\w+|[A-Z]\w*[a-z]\w*)(?=\)|:(?!:)|$)")


@lru_cache(4096)
def fold(error: str) -> str:
    """Return an error without what differs each time.

    Ids, numbers, addresses, paths, times and quoted words become ``<id>``, ``<n>``, ``<address>`` and so on. The texts
    of a document in JSON are what it says, not quotes in it.
    """
    blanks = re.sub(r"\s+", " ", error[:ERROR_CHARACTERS]).strip()
    if blanks.count('"') == 2 and blanks[0] == blanks[-1] == '"':  # a text in JSON
        blanks = blanks[1:-1]
    if _DOCUMENT.match(blanks):
        return '"'.join(_VARYING.sub(_placeholder, part) for part in blanks.split('"'))[:FOLDED_CHARACTERS]
    return _VARYING.sub(_placeholder, blanks)[:FOLDED_CHARACTERS]


def _placeholder(match: re.Match[str]) -> str:
    if match["kept"] is None:
        return f"<{match.lastgroup}>"
    return re.sub(r"\d+", "<n>", re.sub(r"[`'‘’“”]", '"', match["kept"]))  # Ruby 3.4 quotes other than 3.3


def exception(error: str) -> str:
    """Return the class of the exception that an error begins with, or ""."""
    match = _EXCEPTION.match(error.lstrip())
    return match[1] if match else ""


def page(read: Page, rows: Mapping[str, Mapping[str, Any]]) -> DeadLetters:
    """Combine a page of nodes with their rows of ``dead.sql``."""
    dead_letters = tuple(_dead_letter(node, rows[node.id]) for node in read.nodes)
    return DeadLetters(dead_letters=dead_letters, at=read.at, cursor=read.cursor, scope=read.scope)


def _dead_letter(node: Node, row: Mapping[str, Any]) -> DeadLetter:
    """Return a dead letter; cause and current state are the node's status by default."""
    error, cause = row["error"] or None, row["cause"] or node.status or str(node.phase)
    return DeadLetter(
        node=node,
        severity=row["severity"],
        fingerprint=f"{cause}: {fold(error)}" if error else cause,
        since=row["since"],
        error=error,
        was=row["was"],
        is_now=row["is_now"] if row["is_now"] is not None else node.status,
    )


def order(dead_letter: DeadLetter) -> tuple[int, float, str]:
    """Return the sort key: worst first, then newest."""
    return -dead_letter.severity, newest_first(dead_letter.since), dead_letter.node.id


def grouped(dead_letters: Iterable[DeadLetter], *, capped: bool = False) -> dict[Group, list[DeadLetter]]:
    """Group by engine and fingerprint, worst groups first, then newest.

    Dead letters within a group are in the same order.
    """
    groups: dict[tuple[str, str], list[DeadLetter]] = {}
    for each in sorted(dead_letters, key=order):
        groups.setdefault((each.node.engine, each.fingerprint), []).append(each)
    return {
        _group(engine, fingerprint, dead_letters_of, capped): dead_letters_of
        for (engine, fingerprint), dead_letters_of in groups.items()
    }


def summarized(dead_letters: Iterable[DeadLetter], *, capped: bool = False) -> tuple[ErrorSummary, ...]:
    """Count the dead letters of an engine by error alone, the most frequent first."""
    errors: dict[str, list[DeadLetter]] = {}
    for each in dead_letters:
        errors.setdefault(fold(each.error) if each.error else each.fingerprint, []).append(each)
    summaries = (_summary(error, of_error, capped) for error, of_error in errors.items())
    return tuple(sorted(summaries, key=lambda each: (-each.n, newest_first(each.last), each.error)))


def _summary(error: str, of_error: list[DeadLetter], capped: bool) -> ErrorSummary:
    times = [each.since for each in of_error if each.since is not None]
    causes = Counter(each.fingerprint.removesuffix(f": {error}") for each in of_error if each.error)
    return ErrorSummary(
        error=error,
        exception=exception(of_error[0].error or ""),
        severity=max(each.severity for each in of_error),
        n=len(of_error),
        example=of_error[0].error or "",
        capped=capped,
        causes=dict(causes.most_common()),
        groups=tuple({f"{each.node.engine}/dead:{digest(each.fingerprint)}": None for each in of_error}),
        first=min(times, default=None),
        last=max(times, default=None),
    )


def digest(fingerprint: str) -> str:
    """Return the short name of a fingerprint, as in the keys of groups."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:8]


def _group(engine: str, fingerprint: str, dead_letters_of: list[DeadLetter], capped: bool) -> Group:
    times = [each.since for each in dead_letters_of if each.since is not None]
    fates = Counter((each.was, each.is_now) for each in dead_letters_of)
    return Group(
        key=f"{engine}/dead:{digest(fingerprint)}",
        engine=engine,
        fingerprint=fingerprint,
        severity=dead_letters_of[0].severity,
        n=len(dead_letters_of),
        capped=capped,
        first=min(times, default=None),
        last=max(times, default=None),
        fates=tuple(Fate(was=was, is_now=is_now, n=n) for (was, is_now), n in fates.most_common()),
    )
