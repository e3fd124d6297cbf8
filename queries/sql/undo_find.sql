-- Find rows by their primary keys, and lock those that no other transaction locks.
-- {relation}, {match}, {sort}: from undo_columns.sql; {lock}: FOR NO KEY UPDATE OF t SKIP LOCKED, or nothing
-- changes: primary keys, each an array of texts
-- Index: the primary key of the table.
WITH i AS MATERIALIZED (
  SELECT e.n, e.key FROM jsonb_array_elements(:changes::text::jsonb) WITH ORDINALITY AS e(key, n)
),
found AS MATERIALIZED (
  SELECT i.n, t.ctid::text AS place FROM i JOIN {relation} AS t ON {match} ORDER BY {sort} {lock}
)
SELECT i.n::int - 1 AS n, f.place, EXISTS (SELECT FROM {relation} AS t WHERE {match}) AS present
  FROM i LEFT JOIN found f ON f.n = i.n
 ORDER BY i.n
