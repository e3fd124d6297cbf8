"""Run drills and print a table: cause, line 1, action, incidents, verdict.

With ``--unseen``, run the unseen ones, each once, and print where each cause is named.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter

from tests.drills.catalog import DRILLS, UNSEEN
from tests.drills.drill import Drill, Result, run, verdict
from tests.servers import PostgresServer

WIDTHS = (17, 44, 26, 14, 3)


def main(words: list[str]) -> int:
    """Run the drills whose names contain all words.

    Return 1 if a drill fails.
    """
    server = PostgresServer()
    server.start()
    began = time.monotonic()
    if "--unseen" in words:
        try:
            return table_of_unseen(set(words) - {"--unseen"}, server)
        finally:
            server.close()
    chosen = [d for d in DRILLS if all(word in d.key for word in words)]
    print(row("engine", "cause", "line 1", "action", "n", "verdict"))
    try:
        results = [(drill, one(drill, server)) for drill in chosen]
    finally:
        server.close()
    summary(results)
    print(f"{time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}")
    return int(any(wrong for _, wrong in results))


def table_of_unseen(words: set[str], server: PostgresServer) -> int:
    """Run each unseen drill once, and print its verdict and line 1."""
    counts: Counter[str] = Counter()
    print(row("engine", "incident", "verdict", "action", "n", "line 1"))
    for drill in (d for d in UNSEEN if all(word in d.key for word in words)):
        try:
            shown = asyncio.run(run(drill, server)).incidents
            name, line = verdict(drill, shown), "nothing"
            if shown:
                line = f"{shown[0].severity} {shown[0].code}: {shown[0].sentence} To do: {shown[0].remedy or '-'}"
        except Exception as error:  # a broken drill is one row of the table
            shown, name, line = (), "BROKEN", f"{type(error).__name__}: {error}"
        counts[name] += 1
        action = (shown and shown[0].action) or "-"
        print(row(drill.engine, drill.name, name, action, len(shown), line.replace("\n", " ")), flush=True)
    print("\n" + ", ".join(f"{number} {name}" for name, number in counts.most_common()))
    return counts["BROKEN"]


def one(drill: Drill, server: PostgresServer) -> tuple[str, ...]:
    """Run a drill, print its row, and return what is wrong."""
    own = PostgresServer() if drill.alone else None
    if own:
        own.start()
    try:
        result = asyncio.run(run(drill, own or server))
    except Exception as error:  # a broken drill is one row of the table
        print(row(drill.engine, drill.name, "", "", "", f"BROKEN {type(error).__name__}: {error}"), flush=True)
        return ("BROKEN",)
    finally:
        if own:
            own.close()
    show(result)
    return result.wrong


def show(result: Result) -> None:
    drill, first = result.drill, result.first
    line = f"{first.engine}/{first.code}" if first else "nothing"
    verdict = "; ".join(result.wrong) or "ok"
    print(row(drill.engine, drill.name, line, (first and first.action) or "-", len(result.incidents), verdict))
    if first and result.wrong:
        for incident in result.incidents[:4]:
            print(f"{'':18}{incident.severity} {incident.code}: {incident.sentence}"[:240])
    sys.stdout.flush()


def summary(results: list[tuple[Drill, tuple[str, ...]]]) -> None:
    """Print the totals."""
    causes = [(drill, wrong) for drill, wrong in results if not drill.control]
    controls = [(drill, wrong) for drill, wrong in results if drill.control]
    kinds = [text.split()[0] for _, wrong in results for text in wrong]
    print(
        f"\n{sum(not wrong for _, wrong in causes)} of {len(causes)} causes are ok,"
        f" {sum(not wrong for _, wrong in controls)} of {len(controls)} controls are quiet."
    )
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds))))


def row(*cells: object) -> str:
    *most, last = map(str, cells)
    return " ".join(f"{cell[:width]:{width}}" for cell, width in zip(most, WIDTHS, strict=True)) + f" {last}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
