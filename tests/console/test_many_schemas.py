"""One engine in many schemas: a cause that each of them has is one line."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer, install

TENANTS = [f"company_of_the_tenant_{number}" for number in range(1, 6)]
STUCK = """
INSERT INTO queued_job (content, creation_time, creation_instance)
SELECT '{"job": "send"}', now() - interval '1 hour', gen_random_uuid() FROM generate_series(1, 6)
"""


@pytest.fixture
async def tenants(server: PostgresServer) -> str:
    return await schemas(server, TENANTS)


async def schemas(server: PostgresServer, names: list[str]) -> str:
    """Return the DSN of schemas, each with six jobs that no worker takes."""
    dsn = server.fresh()
    for name in names:
        connection = await asyncpg.connect(dsn, server_settings={"search_path": name})
        await connection.execute(f"CREATE SCHEMA {name}")
        await install(connection, "uni2work")
        await connection.execute(STUCK)
        await connection.close()
    return dsn


def test_the_command_prints_one_incident_for_all(tenants: str) -> None:
    answer = unstick("stuck", dsn=tenants)
    assert answer.out.count("no workers") == 1
    assert "In 5 schemas; uni2work@company_of_the_tenant_1: " in " ".join(answer.out.split())
    assert all(f"uni2work@{name}" in answer.out for name in TENANTS)
    one = unstick("stuck", f"uni2work@{TENANTS[2]}", dsn=tenants)
    assert "schemas" not in one.out
    each = unstick("stuck", "--json", dsn=tenants).json["incidents"]
    assert sorted(i["engine"] for i in each if i["code"] == "no_workers") == [f"uni2work@{name}" for name in TENANTS]


async def test_the_list_has_one_line_whose_members_name_their_schemas(tenants: str, tmp_path: Path) -> None:
    async with run_tui(tenants, tmp_path, size=(140, 40)) as tui:
        await tui.press("2")
        await tui.wait_for("uni2work@*")
        lines = [line for line in tui.text.splitlines() if "no workers" in line]
        assert len(lines) == 1, tui.text
        await tui.press("right")
        await tui.wait_for(*(f"tenant_{number}" for number in range(1, 6)))


async def test_a_schema_with_the_name_of_its_engine_is_not_repeated(server: PostgresServer, tmp_path: Path) -> None:
    whole = "uni2work@uni2work/"  # an id is what commands take
    async with run_tui(await schemas(server, ["uni2work", "other"]), tmp_path, size=(140, 40), start="stuck") as tui:
        shown = ("› uni2work", "/queue:all"), ("uni2work     ",), ("uni2work  no dead",), (" uni2work  ", "by engine")
        for keys, rows in zip((["1"], ["tab"], ["3"], ["2", "g"]), shown, strict=True):
            await tui.press(*keys)
            await tui.wait_for(*rows, "uni2work@other", lambda: "uni2work@uni2work" not in tui.text.replace(whole, ""))
