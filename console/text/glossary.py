"""Words of the screen and their meanings, from which docs/glossary.md is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

WORDS: Final[Mapping[str, str]] = {
    "incident": "One cause and everything that it keeps from going on: a row of the list *now*.",
    "stuck": (
        "Said of a node that does not go on by itself: `stuck` lists these, by cause. In commands and JSON "
        "such a problem of one node is a finding: code, title, since, sentence, evidence and suggested "
        "action."
    ),
    "engine": "One task engine's schema in a database: `tasker`, `oban`, one of your own.",
    "guess": "A table that looks like work and that no engine describes. unstick only reads it.",
    "label": (
        "The name of an engine in this database: `eternaltwin`, or `eternaltwin@schema` if two schemas hold "
        "the same engine."
    ),
    "node": (
        "Anything in a tree that has a status: a job, a task, a step, a lock holder, a dead letter. The "
        'screen uses the kind: "task".'
    ),
    "kind": "What a node is in its engine: `task`, `job`, `step`, `bucket`.",
    "status": "The engine's own word for the state of a node.",
    "phase": "The common word for a status; `ready running scheduled blocked held failed done cancelled unknown`.",
    "severity": "How bad a finding is, from 1 to 9: `‼` critical (8, 9), `!` major (5 to 7), `·` minor.",
    "action": "What an operator can do to nodes: wake, cancel, restart, release, resolve.",
    "dry run": (
        "The action's real SQL in a transaction that is rolled back. It returns every affected row before and after."
    ),
    "version": "An opaque token of the row state that the operator saw: a revision, an xmin, a transition id.",
    "guard token": "Fields of a finding that stay the same: the version of nodes that change all the time.",
    "outcome": (
        "The result for one node: `changed`, `stale`, `gone`, `locked`, `refused`, `denied`, `conflict`, "
        "`unsent`, `lost`, `unknown`."
    ),
    "owner": "The worker, executor or instance that has taken a node, and from which an action may take it.",
    "witness": (
        "One sign of life or death of an owner: heartbeat, lock, session, other work. The verdict is dead, "
        "alive or unknown."
    ),
    "skipped": "A node that an action leaves alone, with the reason.",
    "run": (
        "A change of many nodes in steps that are recorded: a bulk or a redrive. It can be stopped, continued"
        " and inspected from any machine."
    ),
    "bulk": "A run that changes all of its nodes, part by part, at most 500 nodes in a transaction.",
    "audit log": (
        "Who did what to which rows, when, why and with which outcome: the table `unstick.audit_log`, or a local file."
    ),
    "image": (
        "The exact values that an action overwrote in one row, or all values of a deleted row, as text. An "
        "undo restores them."
    ),
    "undo": (
        "An action that gives the rows of an audit log entry the values of their images, if nothing has "
        "touched the rows since."
    ),
    "head": (
        "An audit log entry that no other entry follows yet, written as `id:hash`. It proves all entries before it."
    ),
    "dead letter": "A node that its engine has given up on and that no operator has decided on.",
    "precision": "Each number is exact, estimated (`≈`), capped (`10k+`) or unknown. Unknown is never shown as 0.",
    "need": "An index, a privilege or a function that a statement requires to be cheap or possible.",
    "blocker": "The session or prepared transaction that holds a lock.",
    "locked table": "A table that another session holds in ACCESS EXCLUSIVE mode. Its part of the screen is skipped.",
    "load limit": "The share of the time that the console may cost, in work of the server and its own CPU time: 5 %.",
    "context": "A named connection in the settings file, with its colour and its safety settings.",
    "since": "How long it has been so: the time since the cause began.",
    "poll": "The time that an engine spends on a task's polls, as the engine records it.",
    "rev": "The revision: how often the engine has changed the state of the node.",
    "idle": "The time since the last change of the row.",
    "due": "When the engine is to continue the node: `in 4m`, or `12s late`.",
    "throttled": "The console refreshes less often, because its cost reaches the load limit.",
    "native": "An action that the engine has itself; unstick does the same.",
    "emulated": "An action that the engine lacks; unstick changes the same rows as the engine's own code would.",
    "behaviour inferred": "The engine does not document it and no test with the engine's own code has shown it.",
    "revive": "Give a dead letter back to its engine, which tries it again.",
    "resolve": "Close a dead letter without a new try.",
    "redrive": "Revive many dead letters in growing groups, and stop if they fail again.",
    "blast radius": "Everything else that an action changes: nodes that begin, end or wait because of it.",
    "steady": "As many nodes as before.",
    "release": "Take a node from a worker that is gone, so that another one may take it.",
    "orphaned": "Held by a worker, lock or parent that no longer exists.",
    "served": "A worker takes this kind of work; not served: no living worker does.",
    "standby": "A copy of the server that cannot be changed.",
    "heartbeat": "The time that a worker writes again and again to show that it lives.",
    "ready": "A worker may take it now.",
    "running": "A worker has it.",
    "scheduled": "Its time has not come.",
    "blocked": "It waits for other nodes, a lock or an event.",
    "held": "A person or a rule holds it back until an operator decides.",
    "failed": "It ended with an error, or waits for a decision after one.",
    "done": "It ended well.",
    "cancelled": "It was ended before it was done.",
    "unknown": "The status has no known meaning.",
}
"""Meanings by word, as Markdown in one line."""


def words_in(text: str) -> list[tuple[str, str]]:
    """Return the words that a text has, in its order, with their meanings."""
    lower = text.lower()
    places = [(match.start(), word) for word in WORDS if (match := _pattern(word).search(lower))]
    return [(word, WORDS[word].replace("`", "").replace("**", "")) for _, word in sorted(places)]


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?:s|es)?(?![\w-])")


def as_table() -> str:
    """Return the table of docs/glossary.md."""
    rows = "".join(f"| **{word}** | {meaning} |\n" for word, meaning in WORDS.items())
    return f"\n| word | meaning |\n|---|---|\n{rows}\n"
