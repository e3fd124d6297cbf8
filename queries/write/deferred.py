"""Deferred constraints, which fire before COMMIT."""

from __future__ import annotations

from queries.db.query import Query
from queries.db.shared_sql import statement
from queries.files.statement import Statement
from queries.read.question import Question

# A dry run does not reach COMMIT. A failure at COMMIT could not be traced to a node by halving, and the check would run
# there without statement_timeout. Triggers may leave advisory locks.
FIRED = Question(
    [Query(Statement(text="SET CONSTRAINTS ALL IMMEDIATE", source="")), Query(statement("advisory_unlock"))],
    lambda _: None,
)
"""Fire them now, and release the advisory locks of triggers."""
