"""Conditions of a worker's statement, cut from its text."""

from __future__ import annotations

from typing import Any

import pytest

from queries.propose.catalog import Column, NoProposalError, Table
from queries.propose.worker import Taking, WorkerStatement

TYPES = {
    "id": "int8",
    "status": "job_status",
    "queue": "text",
    "run_at": "timestamptz",
    "locked_by": "text",
    "locked_at": "timestamptz",
    "tries": "int4",
    "Paused": "bool",
}
PLAIN: Any = dict.fromkeys(("labels", "checks"), ()) | dict.fromkeys(("required", "refers", "generated"), False)
TABLE = Table(
    schema="app",
    name="jobs",
    keys=(("id",),),
    columns=tuple(
        Column(name=name, type=type_, schema="app" if enum else "pg_catalog", enum=enum, default="", **PLAIN)
        for name, type_ in TYPES.items()
        for enum in [type_ == "job_status"]
    ),
)
SET = ("status", "run_at", "locked_by", "locked_at")  # by actions


def taking(sql: str) -> Taking:
    return WorkerStatement(sql, TABLE).taking(SET, {"run_at": "now()", "locked_at": "", "locked_by": ""})


TAKEN = "status = 'new' AND locked_by IS NULL"
HOLDS = {"status": "t.status = 'new'", "locked_by": "t.locked_by IS NULL"}
FORMS = {
    f"SELECT * FROM jobs WHERE {TAKEN} LIMIT $1 FOR UPDATE SKIP LOCKED": HOLDS,
    f"update app.jobs set status = 'run' where id = (select id from app.jobs where {TAKEN} limit 1 for update)": HOLDS,
    f"WITH x AS (SELECT id FROM jobs WHERE ({TAKEN}) FOR NO KEY UPDATE)"
    " UPDATE jobs SET tries = 1 FROM x WHERE jobs.id = x.id RETURNING jobs.*": HOLDS,
    '/* a */ SELECT 1 FROM ONLY "jobs" AS j WHERE j.status = \'new\' -- AND x\n AND (j."locked_by" IS NULL);': HOLDS,
    "UPDATE jobs SET tries = $1 WHERE locked_by IS NULL AND id = $2 RETURNING *": {"locked_by": "t.locked_by IS NULL"},
    "SELECT * FROM jobs WHERE status = 'new'::app.job_status AND NOT \"Paused\" FOR UPDATE": {
        "status": "t.status = 'new':: :\"schema\".job_status",
        "paused": 'NOT t."Paused"',
    },
    "SELECT FROM jobs WHERE run_at <= coalesce(:n, now()) AND tries BETWEEN 0 AND 5 AND (status = 'a' OR tries > 3)": {
        "run_at": "t.run_at <= coalesce(now(), now())",
        "tries": "t.tries BETWEEN 0 AND 5",
        "status": "t.status = 'a' OR t.tries > 3",
    },
    "SELECT * FROM jobs WHERE CASE WHEN tries > 1 AND tries < 3 THEN true END AND tries = 0 FOR UPDATE": {
        "tries": "CASE WHEN t.tries > 1 AND t.tries < 3 THEN true END",
        "tries_1": "t.tries = 0",
    },
}


@pytest.mark.fast
@pytest.mark.parametrize("sql", FORMS)
def test_the_where_of_the_query_that_takes_rows_is_cut(sql: str) -> None:
    assert taking(sql).conditions == FORMS[sql]


@pytest.mark.fast
@pytest.mark.parametrize("parameter", ["$1", "?", "%s", "%(q)s", ":q", "@q", "ANY($1)", "any(@q::text[])"])
def test_a_condition_on_what_a_statement_is_given_is_omitted(parameter: str) -> None:
    read = taking(f"SELECT * FROM jobs WHERE queue = {parameter} AND status = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED")
    assert read.omitted == (f"queue = {parameter}",)
    assert read.conditions == {"status": "t.status = 'new'"}


# Of libraries, as they are sent: with times, and with the owner and the end of a lease
LIBRARIES = {
    "SELECT * FROM jobs WHERE ((run_at <= '2026-11-30 20:00:00' AND (locked_at IS NULL OR locked_at < $1) OR"
    " locked_by = 'a:1') AND status = 'new') LIMIT 1 FOR UPDATE": (
        "t.run_at <= now() AND (t.locked_at IS NULL OR false) OR t.locked_by = 'a:1'",
        "locked_at < $1",
    ),
    'select * from jobs where (("locked_at" is null and "run_at" <= ?) or ("locked_at" <= ?)) for update': (
        "(t.locked_at is null and t.run_at <= now()) or (false)",
        "locked_at <= ?",
    ),
    "SELECT 1 FROM jobs WHERE run_at < CURRENT_TIMESTAMP AND run_at <= 1764536400 AND run_at <= NOW() FOR UPDATE": (
        "t.run_at < now()",
        "",
    ),
}


@pytest.mark.fast
@pytest.mark.parametrize("sql", LIBRARIES)
def test_a_time_is_now_and_a_lease_that_is_not_known_is_not_over(sql: str) -> None:
    read, (condition, omitted) = taking(sql), LIBRARIES[sql]
    assert next(iter(read.conditions.values())) == condition
    assert " ".join(read.omitted) == omitted


REFUSED = {
    "SELECT * FROM jobs WHERE NOT (locked_at > $1 OR status = 'x') FOR UPDATE": "write a value in place of $1",
    "SELECT * FROM other WHERE a = 1": "no query in it has the table jobs",
    "SELECT * FROM jobs FOR UPDATE": "no query in it has the table jobs",
    "SELECT * FROM jobs WHERE status = $1 FOR UPDATE": "write a value in place of $1, because an action sets status",
    "SELECT * FROM jobs WHERE id = $1 FOR UPDATE": "no condition on a row of jobs is left",
    "SELECT * FROM jobs j JOIN queues q ON q.n = j.queue WHERE status = 'new' FOR UPDATE OF j": "reads other tables",
    "SELECT * FROM queues q, jobs WHERE status = 'new' FOR UPDATE": "reads other tables",
    "SELECT * FROM jobs WHERE status = 'a' UNION SELECT * FROM jobs WHERE status = 'b'": "reads other tables",
    "SELECT * FROM jobs WHERE NOT EXISTS (SELECT FROM queues) FOR UPDATE": "within a condition",
    "SELECT * FROM jobs WHERE q.paused AND status = 'new' FOR UPDATE": "q.paused is no column of jobs",
    "SELECT * FROM jobs WHERE status = 'new' AND pg_sleep(9) > 1 FOR UPDATE": "pg_sleep() is not one of",
    "SELECT * FROM jobs WHERE app.ready(jobs.id) FOR UPDATE": "app.ready() is a function of another schema",
}


@pytest.mark.fast
@pytest.mark.parametrize("sql", REFUSED)
def test_what_cannot_be_cut_is_refused(sql: str) -> None:
    with pytest.raises(NoProposalError, match=REFUSED[sql].replace("(", r"\(").replace(")", r"\)").replace("$", r"\$")):
        taking(sql)
