"""Privileges that ``grants`` prints.

``engine check`` proves that they are enough for every read and action.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from queries.contract.builtin import builtin
from tests.command import unstick
from tests.proof import most_in_proof
from tests.queries.builders import opened
from tests.servers import PostgresServer

engines = pytest.mark.parametrize("name", most_in_proof([each.name for each in builtin()]))
# A usual hardening: no role may call a function that is not the server's own, unless it is granted.
NO_EXECUTE = """
DO $$ DECLARE s name; BEGIN
  FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' LOOP
    EXECUTE format('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', s);
  END LOOP;
END $$
"""
DEMO = {"agent_jobs": {"agent_jobs": {"profile": "table"}}}


@pytest.fixture
def filled(server: PostgresServer, name: str) -> Iterator[str]:
    dsn = server.fresh(name, filled=True)
    yield dsn
    server.drop(dsn)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_it_is_printed_for_what_is_here(eternaltwin: str, server: PostgresServer) -> None:
    answer = unstick("grants", "--operator", "on call", dsn=eternaltwin)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "-- eternaltwin",
        'GRANT USAGE ON SCHEMA public TO "on call";',
        'GRANT SELECT ON public.job, public.task, public.task_timer TO "on call";',
        'GRANT INSERT, UPDATE, DELETE ON public.job TO "on call";',
        'GRANT INSERT, UPDATE, DELETE ON public.task TO "on call";',
        'GRANT INSERT, DELETE ON public.task_timer TO "on call";',
    ]
    assert unstick("grants", dsn=eternaltwin).out.count("TO viewer, operator;") == 2
    assert "operator" not in unstick("grants", "--viewer", "v", dsn=eternaltwin).out
    assert unstick("grants", "--json", dsn=eternaltwin).json["grants"]["eternaltwin"]
    server.sql("DROP TABLE task_timer", eternaltwin)
    assert unstick("grants", dsn=eternaltwin).code == 1


@engines
async def test_the_printed_statements_of_a_viewer_alone_run(
    filled: str, server: PostgresServer, name: str, tmp_path: Path
) -> None:
    """Each runs as printed; then the role may read, and not write."""
    viewer = server.unique("ann ")
    server.sql(f"CREATE ROLE {quoted(viewer)} LOGIN PASSWORD 'x'")
    server.sql("REVOKE ALL ON SCHEMA public FROM PUBLIC", filled)
    server.sql(NO_EXECUTE, filled)
    printed = (await asyncio.to_thread(unstick, "grants", "--viewer", viewer, dsn=filled)).out
    assert "TO ;" not in printed
    server.sql(printed, filled)
    dsn = server.dsn(urlsplit(filled).path.strip("/"), user=viewer, password="x")
    workspace = await opened(dsn, tmp_path, overrides=DEMO.get(name))
    try:
        (reader,) = workspace.engines.values()
        assert reader.detected.denied == ()
        await reader.pages.roots()
        assert [each.why for each in (await reader.findings.read()).skipped_findings if each.failed] == []
        table = f"{quoted(reader.detected.schema)}.{quoted(next(iter(reader.detected.relations)))}"
        with pytest.raises(Exception, match="permission denied"):
            server.sql(f"DELETE FROM {table}", dsn)
    finally:
        await workspace.close()
