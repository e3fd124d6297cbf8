"""Colleagues who changed a node or have it in a run, and customers of a group."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from jsonschema import Draft202012Validator

from console.cli.schema import schema
from queries.log import audit_log
from queries.records.action import Outcome
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.queries import odd
from tests.queries.builders import do, dry_run_of, opened, outcomes_of, why
from tests.servers import PostgresServer

FAILED = """
INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, active_job_id, created_at, updated_at)
SELECT 'q', 'SyncJob', json_build_object('arguments', json_build_array(json_build_object('tenant',
         CASE WHEN n <= 9 THEN 'acme' ELSE 'globex' END))), gen_random_uuid(), now(), now()
  FROM generate_series(1, 12) n;
INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
SELECT id, '{"exception_class":"IOError","message":"boom"}', now() FROM solid_queue_jobs
"""


@pytest.fixture
def night(server: PostgresServer) -> Iterator[tuple[str, str]]:
    """DSNs of a database with failed jobs: as this role, and as a colleague's."""
    dsn, role = server.fresh("solid_queue"), server.unique("ops")
    server.sql(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'")
    server.sql(FAILED, dsn)
    server.sql(audit_log.ddl(), dsn)
    yield dsn, server.dsn(dsn.rpartition("/")[2], user=role, password="x")
    server.drop(dsn)
    server.sql(f"DROP ROLE {role}")


def role_of(dsn: str) -> str:
    return dsn.partition("//")[2].partition(":")[0]


async def test_gone_and_stale_name_the_entry(night: tuple[str, str], tmp_path: Path) -> None:
    dsn, colleague = night
    workspace, other = [await opened(each, tmp_path) for each in (dsn, colleague)]
    page = await workspace.engines["solid_queue"].pages.dead()
    versions = {each.node.id: each.node.version for each in page.dead_letters[:2]}
    gone, stale = versions
    await do(other, "cancel", [gone], label="solid_queue")
    await do(other, "retry", [stale], label="solid_queue")
    dry_run = await dry_run_of(workspace, "retry", versions, label="solid_queue")
    assert outcomes_of(dry_run) == {gone: Outcome.GONE, stale: Outcome.STALE}
    for node_id, action in ((gone, "cancel"), (stale, "retry")):
        assert re.search(rf"\(role {role_of(colleague)}\) \d+s ago: {action}, entry \d", why(dry_run, node_id))
    typed = await asyncio.to_thread(unstick, "do", "retry", gone, stale, "-r", "x", "--dry-run", dsn=dsn)
    assert re.search(rf"deleted; changed last by .*\(role {role_of(colleague)}\) \d+s ago: cancel, entry", typed.out)
    await workspace.close()
    await other.close()


def test_a_dry_run_says_which_nodes_are_in_a_run(night: tuple[str, str]) -> None:
    """The list of a newer run cannot be read, which hides no other."""
    dsn, colleague = night
    group = unstick("dead", "--json", dsn=dsn).json["dead"][0]["groups"][0]["key"]
    unstick("redrive", "--group", group, "--wait", "0s", "-r", "disk is back", "-y", dsn=colleague)
    asyncio.run(_unreadable_run(dsn))
    for words in (("do", "cancel"), ("redrive",)):  # its first cohort is one of the 11
        answer = unstick(*words, "--group", group, "-r", "x", "--dry-run", dsn=dsn)
        assert "11 of them are in the open redrive run " in answer.out, answer.out + answer.err
        assert f"(role {role_of(colleague)}): disk is back" in answer.out


async def _unreadable_run(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await odd.begin(connection, r'{"members": [["\u0000", "1"]]}')
    await connection.close()


async def test_the_audit_page_names_role_and_user(night: tuple[str, str], tmp_path: Path) -> None:
    dsn, colleague = night
    job = (await asyncio.to_thread(unstick, "dead", "--json", dsn=dsn)).json["dead"][0]["dead_letters"][0]["node"]["id"]
    done = await asyncio.to_thread(unstick, "do", "cancel", job, "-r", "tenant left", "-y", dsn=colleague)
    assert done.code == 0
    async with run_tui(dsn, tmp_path, size=(160, 30)) as tui:
        await tui.press("4")
        await tui.wait_for("tenant left", f"{role_of(colleague)} ({audit_log.operator().os_user}@")


async def test_a_run_is_one_line_of_the_audit_page(night: tuple[str, str], tmp_path: Path) -> None:
    dsn, _ = night
    group = (await asyncio.to_thread(unstick, "dead", "--json", dsn=dsn)).json["dead"][0]["groups"][0]["key"]
    words = ("redrive", "--group", group, "--wait", "0s", "-r", "disk is back", "-y")
    await asyncio.to_thread(unstick, *words, dsn=dsn)
    async with run_tui(dsn, tmp_path, size=(160, 30)) as tui:
        await tui.press("4")
        await tui.wait_for("1 of 12 changed", ": IOError: boom", lambda: tui.text.count("disk is back") == 1)
        await tui.press("enter")
        await tui.wait_for("begun, 12 nodes", lambda: tui.text.count("disk is back") > 2)


# which customer


def test_nodes_are_counted_by_a_field_of_the_payload(night: tuple[str, str]) -> None:
    dsn, _ = night
    (report,) = unstick("dead", "--json", dsn=dsn).json["dead"]
    words = ("dead", "--group", report["groups"][0]["key"], "--group-by", "payload.arguments.tenant")
    answer = unstick(*words, "--json", dsn=dsn)
    assert list(Draft202012Validator(schema(["dead"])).iter_errors(answer.json)) == []
    assert [each["values"] for each in answer.json["counts"]] == [{"acme": 9, "globex": 3}]
    assert re.findall(r"(?m)^ +(\d+)  (\w+)$", unstick(*words, dsn=dsn).out) == [("9", "acme"), ("3", "globex")]
    (kinds,) = unstick("tree", "SyncJob", "--group-by", "kind", "--json", dsn=dsn).json["counts"]
    assert kinds["values"] == {"job": 12}
    assert unstick("dead", "--group-by", "nosuch", dsn=dsn).code == 2


def test_many_nodes_are_shown(night: tuple[str, str]) -> None:
    dsn, _ = night
    one, two = [each["node"]["id"] for each in unstick("dead", "--json", dsn=dsn).json["dead"][0]["dead_letters"][:2]]
    answer = unstick("show", one, two, "--json", dsn=dsn)
    assert [each["node"]["id"] for each in answer.json["nodes"]] == [one, two]
    assert list(Draft202012Validator(schema(["show"])).iter_errors(answer.json)) == []
    text = unstick("show", one, two, "solid_queue/job:999", dsn=dsn)
    assert text.code == 3, "one is missing"
    assert one in text.out
    assert two in text.out


async def test_the_preview_of_a_group_has_its_customers(night: tuple[str, str], tmp_path: Path) -> None:
    async with run_tui(night[0], tmp_path, size=(150, 40)) as tui:
        await tui.press("3")
        await tui.wait_for("IOError: boom")
        await tui.press("down")
        await tui.wait_for("arguments.tenant: acme 9, globex 3")
        await tui.press("g", "g")
        numbers = r"(?s)by payload\.arguments\.tenant.* acme +9 .* globex +3 "
        await tui.wait_for(lambda: re.search(numbers, tui.text))
