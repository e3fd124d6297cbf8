"""Size is a design limit: caps of lines for each room, and for three totals.

Remove something to make room, or add a row to docs/decisions/0014-size.md: the room, its lines, the reason. A line of
more than 120 characters counts as the lines that it fills.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter

import pytest

from tests.command import ROOT

WIDTH = 120  # characters
PAGE = ROOT / "docs/decisions/0014-size.md"
FOR_MACHINES = re.compile(r"queries/engines/[^/]+/(schema|catalog|fixture|worker)(\.\w+)*\.(sql|toml)")

# Lines on 29 November 2026. A file belongs to the room of its folder; see `room`.
ROOMS = {
    "console": 681,
    "console/cli": 5_042,
    "console/demo": 726,
    "console/demo, SQL": 28,
    "console/model": 6_288,
    "console/text": 3_246,
    "console/tui": 9_040,
    "queries": 549,
    "queries/change": 5_442,
    "queries/check": 2_079,
    "queries/check, SQL": 248,
    "queries/claim": 300,
    "queries/contract": 4_883,
    "queries/contract, SQL": 340,
    "queries/db": 3_702,
    "queries/engines": 3_636,
    "queries/engines/agent_jobs": 1_462,
    "queries/engines/estuary": 2_232,
    "queries/engines/eternaltwin": 1_853,
    "queries/engines/graphile_worker": 619,
    "queries/engines/oban": 814,
    "queries/engines/pgqueuer": 821,
    "queries/engines/procrastinate": 893,
    "queries/engines/solid_queue": 1_228,
    "queries/engines/tasker": 4_907,
    "queries/engines/uni2work": 1_945,
    "queries/evidence": 1_100,
    "queries/files": 730,
    "queries/log": 1_799,
    "queries/propose": 1_087,
    "queries/propose, SQL": 408,
    "queries/read": 3_229,
    "queries/records": 1_357,
    "queries/server, SQL": 1_436,
    "queries/sql, SQL": 1_623,
    "queries/text": 642,
    "tests": 938,
    "tests/bench": 2_165,
    "tests/console": 16_144,
    "tests/db": 556,
    "tests/drills": 3_711,
    "tests/engines": 389,
    "tests/mutation": 715,
    "tests/packaging": 398,
    "tests/queries": 33_061,
    "tests/screenshots": 360,
    "tests/simulators": 3_883,
    "tests/terminal": 1_648,
    "tests/unit": 8_159,
    "tests/workers": 2_197,
}
# Lines then, and how many more there may be.
TOTALS = {"product Python": (52_946, 3_160), "SQL and TOML": (19_393, 1_450), "tests": (74_960, 6_100)}


def room(path: str) -> str:
    """Return the room of a file.

    All that an engine has for machines is ``queries/engines``: the schema, facts of the catalog, a fixture, a worker.
    """
    top, *folders = path.split("/")[:-1]
    if top == "tests":
        return "/".join([top, *folders[:1]])
    if path.startswith("queries/engines/"):
        return "queries/engines" if FOR_MACHINES.fullmatch(path) else "/".join([top, *folders[:2]])
    return "/".join([top, *folders[:1]]) + ("" if path.endswith(".py") else ", SQL")


def total(path: str) -> str:
    """Return the total that counts a file, or ""."""
    if path.startswith("tests/"):
        return "tests"
    if path.endswith(".py"):
        return "product Python"
    outside = FOR_MACHINES.fullmatch(path) or path.startswith(("queries/server/", "console/"))
    return "" if outside else "SQL and TOML"


def lines(text: str) -> int:
    """Return the number of lines of 120 characters."""
    return sum(max(1, -(-len(line) // WIDTH)) for line in text.splitlines())


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    """Lines of each tracked file, by path."""
    wanted = [f"{top}/**.{kind}" for top in ("console", "queries", "tests") for kind in ("py", "sql", "toml")]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *wanted]
    paths = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert len(paths) > 1_000
    return {path: lines((ROOT / path).read_text("utf-8")) for path in paths if (ROOT / path).exists()}


@pytest.fixture(scope="module")
def rises() -> Counter[str]:
    """Lines that the rows of the decision page give to rooms."""
    rises: Counter[str] = Counter()
    for name, number in re.findall(r"(?m)^\| `([^`]+)` \| \+([\d,]+) \| \S.*\|$", PAGE.read_text("utf-8")):
        rises[name] += int(number.replace(",", ""))
    return rises


@pytest.mark.fast
def test_each_room_keeps_its_size(sizes: dict[str, int], rises: Counter[str]) -> None:
    assert rises.keys() <= ROOMS.keys()
    used: Counter[str] = Counter()
    for path, number in sizes.items():
        used[room(path)] += number
    assert used.keys() <= ROOMS.keys(), "a file in no room"
    caps = {name: number + rises[name] for name, number in ROOMS.items()}
    assert {name: f"{number:,} of {caps[name]:,}" for name, number in used.items() if number > caps[name]} == {}


@pytest.mark.fast
def test_the_totals_keep_their_size(sizes: dict[str, int]) -> None:
    used: Counter[str] = Counter()
    for path, number in sizes.items():
        used[total(path)] += number
    assert [f"{name}: {used[name]:,}" for name, (number, more) in TOTALS.items() if used[name] > number + more] == []


@pytest.mark.fast
@pytest.mark.parametrize(
    ("path", "its_room"),
    [
        ("console/config.py", "console"),
        ("console/tui/screens/tree.py", "console/tui"),
        ("console/demo/setup.sql", "console/demo, SQL"),
        ("queries/engines/tasker/schema.queue.sql", "queries/engines"),
        ("queries/engines/tasker/parts/schema.sql", "queries/engines/tasker"),
        ("queries/engines/tasker/engine.toml", "queries/engines/tasker"),
        ("tests/conftest.py", "tests"),
        ("tests/queries/tasker/test_rows.py", "tests/queries"),
    ],
)
def test_a_file_has_one_room(path: str, its_room: str) -> None:
    assert room(path) == its_room


@pytest.mark.fast
def test_a_long_line_counts_as_the_lines_that_it_fills() -> None:
    assert lines("\n".join(["", "a" * 120, "b" * 121, "c" * 241])) == 1 + 1 + 2 + 3
