"""``metrics``: the OpenMetrics text format, read by its reference parser."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

from console.cli.metrics import Metric, exposition
from tests.command import unstick
from tests.servers import PostgresServer, Servers

WHERE = {"context", "server", "database"}
Samples = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def demo(servers: Servers) -> Iterator[str]:
    """DSN of a database with the demo's data of tasker, read only by these tests."""
    server: PostgresServer = servers["18"]
    dsn = server.fresh("tasker", filled=True)
    yield dsn
    server.drop(dsn)


def read(text: str) -> dict[str, Samples]:
    """Return the values by family and by the values of their labels."""
    assert text.endswith("# EOF\n")
    families = list(parse(text))
    assert all(family.documentation and family.type == "gauge" for family in families)
    assert all(sample.labels.keys() > WHERE for family in families for sample in family.samples)
    return {
        f.name: {tuple(v for k, v in s.labels.items() if k not in WHERE): float(s.value) for s in f.samples}
        for f in families
    }


def counted(dsn: str) -> set[tuple[str, str, str, int]]:
    """Return the numbers of `engines` and of `stuck`, by family and labels."""
    counts = unstick("engines", "--json", dsn=dsn).json["engines"][0]["counts"]
    stuck: dict[str, set[str]] = {}
    for finding in unstick("stuck", "--json", dsn=dsn).findings:
        stuck.setdefault(finding["code"], set()).add(finding["node_id"])
    nodes = {("unstick_nodes", count["phase"], count["precision"], count["n"]) for count in counts}
    return nodes | {("unstick_stuck_nodes", code, "exact", len(found)) for code, found in stuck.items()}


def test_the_numbers_are_those_of_the_other_commands(demo: str) -> None:
    before = counted(demo)
    answer = unstick("metrics", dsn=demo)
    assert (answer.code, answer.err) == (0, "")
    found = read(answer.out)
    steady = before & counted(demo)  # time passes in the demo too
    assert {family for family, *_ in steady} == {"unstick_nodes", "unstick_stuck_nodes"}
    for family, name, precision, n in steady:
        assert found[family]["tasker", name, precision] == n
        assert family == "unstick_nodes" or found["unstick_stuck_oldest_age_seconds"]["tasker", name, precision] > 0
    dead = unstick("dead", "--json", dsn=demo).json["dead"][0]
    assert found["unstick_dead_letters"] == {("tasker", "exact"): len(dead["dead_letters"])}
    oldest = dead["at"] - min(each["since"] for each in dead["dead_letters"])
    assert found["unstick_dead_letters_oldest_age_seconds"]["tasker", "exact"] == pytest.approx(oldest, abs=60)


def test_two_databases_share_no_series(server: PostgresServer, eternaltwin: str) -> None:
    other = server.fresh("eternaltwin")
    families = [list(parse(unstick("metrics", dsn=dsn).out)) for dsn in (eternaltwin, other)]
    series = [{(s.name, *s.labels.items()) for f in each for s in f.samples} for each in families]
    assert len(series[0]) == len(series[1]) > 0
    assert not series[0] & series[1]
    server.drop(other)


def test_what_was_not_checked_is_not_zero(eternaltwin: str) -> None:
    found = read(unstick("metrics", dsn=eternaltwin).out)["unstick_stuck_nodes"]
    assert math.isnan(found["eternaltwin", "spinning", "unknown"])
    assert found["eternaltwin", "overdue_timer", "exact"] == 0
    found = read(unstick("metrics", "--sample", "0", dsn=eternaltwin).out)["unstick_stuck_nodes"]
    assert found["eternaltwin", "spinning", "exact"] == 0


def test_what_cannot_be_read_is_not_zero(server: PostgresServer, eternaltwin: str) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    answer = unstick("metrics", dsn=server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"))
    assert answer.code == 1
    found = read(answer.out)
    del found["unstick_dead_letters"]  # this engine has none
    zero = [key for samples in found.values() for key, value in samples.items() if value == 0]
    assert {key[0] for key in zero} <= {"server"}


async def test_a_locked_table_is_not_zero(eternaltwin: str) -> None:
    holder = await asyncpg.connect(eternaltwin)
    async with holder.transaction():
        await holder.execute("LOCK TABLE task IN ACCESS EXCLUSIVE MODE")
        codes: set[str] = set()
        while "table_locked" not in codes:  # a short lock is none
            stuck = await asyncio.to_thread(unstick, "stuck", "--json", dsn=eternaltwin)
            codes = {finding["code"] for finding in stuck.findings}
        answer = await asyncio.to_thread(unstick, "metrics", dsn=eternaltwin)
    await holder.close()
    found = read(answer.out)["unstick_stuck_nodes"]
    assert "not_read" in codes
    assert not [key for key, n in found.items() if n == 0 and (key[1] in codes or key[0] == "eternaltwin")]


def test_a_capped_number_says_so(demo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.cli.metrics.COUNTED_NODES", 1)
    monkeypatch.setattr("console.cli.metrics.DEAD_LETTERS_COUNTED", 1)
    found = read(unstick("metrics", dsn=demo).out)
    assert found["unstick_dead_letters"] == {("tasker", "capped"): 1}
    assert 1 in [n for (_, _, precision), n in found["unstick_stuck_nodes"].items() if precision == "capped"]
    assert [*found["unstick_dead_letters_oldest_age_seconds"]] == [("tasker", "capped")]
    assert {precision for *_, precision in found["unstick_stuck_oldest_age_seconds"]} == {"capped", "exact"}


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(text, st.dictionaries(st.sampled_from(["a", "b"]), text, min_size=1), st.floats())
def test_any_text_can_be_a_label(about: str, labels: dict[str, str], value: float) -> None:
    metric = Metric(name="unstick_x", about=f"x{about}", samples=[(labels, value)])
    (family,) = parse("\n".join(exposition([metric])) + "\n")
    (sample,) = family.samples
    found: Any = sample.value
    assert (family.documentation, sample.labels) == (f"x{about}", labels)
    assert found == value or (math.isnan(found) and math.isnan(value))


def test_the_schema_of_an_engine_is_a_label(server: PostgresServer, database: str) -> None:
    assert unstick("metrics", dsn=database).code == 1, "there is no engine"
    assert unstick("metrics", "--engine", "nope", dsn=server.fresh("tasker")).code == 2
