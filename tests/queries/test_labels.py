"""An id always means one schema: labels, short forms, settings, audit entries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from console.config import load
from queries.db.errors import UnknownIdError
from queries.log import audit_log
from queries.records.node import split_id
from tests.command import Answer, fetch, unstick
from tests.queries.builders import do, opened, outcomes_of, seen
from tests.servers import PostgresServer

ENGINES = Path(__file__).parents[2] / "queries" / "engines"
DDL = (ENGINES / "uni2work" / "schema.sql").read_text()
JOB = (
    "INSERT INTO {schema}.queued_job (id, content, creation_instance, creation_time, write_last_exec)"
    " VALUES (5, '{{\"job\": \"send-notification\"}}', gen_random_uuid(), now() - interval '1 day', false)"
)
Add = Callable[[str], None]


@pytest.fixture
def add(server: PostgresServer, database: str) -> Add:
    """Return ``add("archive")``, which creates another schema with uni2work.

    The schema has uni2work's tables and a job 5.
    """

    def add(schema: str) -> None:
        server.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema}; {DDL}", database)
        server.sql(JOB.format(schema=schema), database)

    return add


@pytest.fixture
def two_schemas(add: Add, database: str) -> str:
    """A database in which two schemas hold uni2work, each with a job 5."""
    add("public")
    add("archive")
    return database


def cancel(node: str, dsn: str, *more: str, home: Path | None = None) -> Answer:
    return unstick("do", "cancel", node, "--reason", "wrong", "--yes", "--json", *more, dsn=dsn, home=home)


def left(dsn: str) -> set[str]:
    """Return the schemas whose job still exists."""
    return {s for s in ("public", "archive") if fetch(dsn, f"SELECT FROM {s}.queued_job WHERE id = 5")}


def outcome(answer: Answer) -> dict[str, str]:
    return {result["id"]: result["outcome"] for result in answer.json["results"]}


async def test_each_label_names_its_schema_where_two_hold_the_engine(two_schemas: str, tmp_path: Path) -> None:
    workspace = await opened(two_schemas, tmp_path)
    assert {label: r.detected.schema for label, r in workspace.engines.items()} == {
        "uni2work@public": "public",
        "uni2work@archive": "archive",
    }
    for label in workspace.engines:
        assert [node.id for node in (await workspace.engines[label].nodes.read([f"{label}/job:5"])).nodes] == [
            f"{label}/job:5"
        ]
    await workspace.close()


@pytest.mark.parametrize(
    "command", [["show", "uni2work/job:5"], ["audit", "uni2work/job:5"], ["tree", "--engine", "uni2work"]]
)
def test_the_short_form_is_refused_with_both_full_forms(two_schemas: str, command: list[str]) -> None:
    answer = unstick(*command, dsn=two_schemas)
    assert answer.code == 2
    rest = "/job:5" if "--engine" not in command else ""
    assert answer.out == ""
    for schema in ("public", "archive"):
        assert f"uni2work@{schema}{rest}" in answer.err


def test_an_action_by_the_short_form_changes_neither(two_schemas: str) -> None:
    assert cancel("uni2work/job:5", two_schemas).code == 2
    assert left(two_schemas) == {"public", "archive"}
    assert outcome(cancel("uni2work@archive/job:5", two_schemas)) == {"uni2work@archive/job:5": "changed"}
    assert left(two_schemas) == {"public"}


def test_a_schema_created_later_never_takes_an_id_over(add: Add, database: str) -> None:
    add("public")
    assert unstick("show", "uni2work/job:5", "--json", dsn=database).json["node"]["id"] == "uni2work/job:5"
    add("archive")
    assert cancel("uni2work/job:5", database).code == 2
    assert left(database) == {"public", "archive"}


def test_the_full_form_is_good_for_ever(add: Add, database: str, server: PostgresServer) -> None:
    add("archive")
    assert outcome(cancel("uni2work@archive/job:5", database, "--dry-run")) == {"uni2work/job:5": "changed"}
    assert cancel("uni2work@public/job:5", database).code == 2, "that schema holds no such engine"
    assert unstick("stuck", "--engine", "uni2work@archive", dsn=database).code == 0


@pytest.mark.parametrize("by", ["option", "context"])
def test_a_chosen_schema_makes_the_short_form_good(two_schemas: str, tmp_path: Path, by: str) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'[contexts.old]\ndsn = "{two_schemas}"\nschema = "archive"\n')
    chosen = ["--schema", "archive"] if by == "option" else ["@old", "--config", str(settings)]
    dsn = two_schemas if by == "option" else None
    engines = unstick("engines", "--json", *chosen, dsn=dsn)
    assert [(s["label"], s["schema"]) for s in engines.json["engines"]] == [("uni2work@archive", "archive")]
    assert [d["schema"] for d in engines.json["declined"]] == ["public"], "the other schema is reported as declined"
    answer = unstick("do", "cancel", "uni2work/job:5", "-r", "x", "--yes", "--json", *chosen, dsn=dsn)
    assert outcome(answer) == {"uni2work@archive/job:5": "changed"}
    assert left(two_schemas) == {"public"}


def test_a_chosen_schema_says_nothing_of_an_engine_that_is_elsewhere(add: Add, database: str) -> None:
    add("archive")
    engines = unstick("engines", "--schema", "public", "--json", dsn=database)
    assert [s["label"] for s in engines.json["engines"]] == ["uni2work"]


@pytest.mark.parametrize("table", [True, False])
def test_entries_are_found_by_schema_with_any_label(
    add: Add, database: str, server: PostgresServer, tmp_path: Path, table: bool
) -> None:
    def actions(node: str) -> list[tuple[str, str, list[str]]]:
        read = unstick("audit", node, "--json", dsn=database, home=tmp_path).json["entries"]
        return [(e["schema"], e["action"], [r["id"] for r in e["results"]]) for e in read]

    if table:
        server.sql(audit_log.ddl(), database)
    add("public")
    assert outcome(cancel("uni2work/job:5", database, home=tmp_path)) == {"uni2work/job:5": "changed"}
    add("archive")
    assert actions("uni2work@archive/job:5") == [], "another row, though it was once the same id"
    assert actions("uni2work@public/job:5") == [("public", "cancel", ["uni2work@public/job:5"])]
    assert cancel("uni2work@archive/job:5", database, home=tmp_path).code == 0
    server.sql("DROP SCHEMA public CASCADE", database)
    assert actions("uni2work/job:5") == [("archive", "cancel", ["uni2work/job:5"])]


SETTINGS = """
[thresholds.uni2work]
stale = "1s"
silent = "2s"
[thresholds.uni2work.send-notification]
late = "1s"
behind = "1s"
[thresholds."uni2work@archive"]
silent = "3s"
[thresholds."uni2work@archive".send-notification]
behind = "3s"
[thresholds."uni2work@b%2Fc"]
silent = "4s"
"""


async def test_thresholds_of_a_label_win_over_those_of_the_engine(two_schemas: str, add: Add, tmp_path: Path) -> None:
    add('"b/c"')
    (tmp_path / "config.toml").write_text(SETTINGS)
    workspace = await opened(two_schemas, tmp_path, overrides=load(str(tmp_path / "config.toml")).overrides())
    settings = {r.detected.schema: r.engine.settings for r in workspace.engines.values()}
    assert {(schema, of["stale"], of["silent"]) for schema, of in settings.items()} == {
        ("public", 1.0, 2.0), ("archive", 1.0, 3.0), ("b/c", 1.0, 4.0)
    }  # fmt: skip
    assert settings["archive"]["send-notification"] == {"late": 1.0, "behind": 3.0}
    await workspace.close()


async def test_the_settings_of_a_label_also_hold_for_an_engine_that_is_alone(
    add: Add, database: str, tmp_path: Path
) -> None:
    add("archive")
    (tmp_path / "config.toml").write_text(SETTINGS)
    workspace = await opened(database, tmp_path, overrides=load(str(tmp_path / "config.toml")).overrides())
    assert workspace.engines["uni2work"].engine.settings["silent"] == 3.0
    await workspace.close()


async def test_options_of_a_label_win_over_those_of_the_engine(
    server: PostgresServer, database: str, tmp_path: Path
) -> None:
    ddl = (ENGINES / "agent_jobs" / "schema.sql").read_text()
    for schema in ("public", "archive"):
        server.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema}; {ddl}", database)
    (tmp_path / "config.toml").write_text(
        '[options.agent_jobs]\nprofile = "mirror"\ngroup = "user"\n[options."agent_jobs@archive"]\nprofile = "table"\n'
    )
    workspace = await opened(database, tmp_path, overrides=load(str(tmp_path / "config.toml")).overrides())
    chosen = {
        r.detected.schema: (r.engine.settings["profile"], r.engine.settings["group"])
        for r in workspace.engines.values()
    }
    assert chosen == {"public": ("mirror", "user"), "archive": ("table", "user")}
    assert all(any("from the settings" in note for note in r.variant.notes) for r in workspace.engines.values())
    await workspace.close()


async def test_a_running_console_never_acts_on_another_schema_than_it_showed(
    add: Add, database: str, tmp_path: Path
) -> None:
    add("public")
    workspace = await opened(database, tmp_path)
    versions = await seen(workspace, ["uni2work/job:5"], "uni2work")
    add("archive")
    await workspace.detect()
    with pytest.raises(UnknownIdError, match="uni2work@archive"):
        await do(workspace, "cancel", versions, label="uni2work")
    assert await asyncio.to_thread(left, database) == {"public", "archive"}
    full = {"uni2work@public/job:5": versions["uni2work/job:5"]}
    assert set(outcomes_of(await do(workspace, "cancel", full, label="uni2work@public")).values()) == {"changed"}
    assert await asyncio.to_thread(left, database) == {"archive"}
    await workspace.close()


async def test_a_label_is_safe_in_an_id_and_on_a_terminal(add: Add, database: str, tmp_path: Path) -> None:
    add("public")
    odd = "x\n-- \u202ey\x1b[2J/z\U000e0041"
    add(f'"{odd}"')
    workspace = await opened(database, tmp_path)
    label = next(label for label, r in workspace.engines.items() if r.detected.schema == odd)
    assert label.isprintable()
    assert split_id(f"{label}/job:5")[0] == label
    assert set(outcomes_of(await do(workspace, "cancel", [f"{label}/job:5"], label=label)).values()) == {"changed"}
    await workspace.close()
