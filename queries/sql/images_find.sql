-- Find rows by their primary keys, each with its image, and lock those that no other transaction locks.
-- {relation}, {match}, {sort}: from image_columns.sql; {images}: images_row.sql
-- {lock}: FOR NO KEY UPDATE OF t SKIP LOCKED, or nothing
-- changes: primary keys, each an array of texts
-- A row that another transaction changed after this statement began is locked, and has no image.
-- Index: the primary key of the table.
WITH i AS MATERIALIZED (
  SELECT e.n, e.key FROM jsonb_array_elements(:changes::text::jsonb) WITH ORDINALITY AS e(key, n)
),
found AS MATERIALIZED (
  SELECT i.n, t.tableoid AS relation, t.ctid::text AS place FROM i JOIN {relation} AS t ON {match} ORDER BY {sort} {lock}
),
c AS MATERIALIZED (
  SELECT i.n::int - 1 AS n, f.relation, f.place, EXISTS (SELECT FROM {relation} AS t WHERE {match}) AS present
    FROM i LEFT JOIN found f ON f.n = i.n
)
SELECT c.n, c.place, c.present, r.*
  FROM c LEFT JOIN LATERAL (
{images}
) AS r ON true
 ORDER BY c.n
