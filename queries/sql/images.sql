-- The rows of nodes, each with its image, and one without an id: the digest of all. Rows of other tables have no image.
-- {located}: the statement that returns their places; {images}: images_row.sql for each table
-- bytes: a text with more characters comes as its digest after "~", for a caller who has it; NULL: all come whole
-- cursor: the digest of rows that the caller has, which do not come again; or NULL
WITH located AS MATERIALIZED (
{located}
),
read AS MATERIALIZED (SELECT c.id, c.relation::text AS relation, c.place, i.* FROM located c LEFT JOIN LATERAL (
{images}
) AS i ON true),
every AS (
  SELECT encode(sha256(string_agg(sha256(convert_to(r::text, getdatabaseencoding())), '' ORDER BY r.id, r.relation, r.place)), 'hex') AS digest FROM read r)
SELECT r.id, r.relation, r.place, r.xmin, r.own, b.texts, b.more, r.rest, r.digest
  FROM every e JOIN read r ON e.digest IS DISTINCT FROM :cursor
 CROSS JOIN LATERAL (
  SELECT array_agg(v ORDER BY n) FILTER (WHERE a = 1) AS texts, array_agg(v ORDER BY n) FILTER (WHERE a = 2) AS more
    FROM (SELECT a.a, u.n, CASE WHEN length(u.v) > :bytes THEN '~' || encode(sha256(convert_to(u.v, getdatabaseencoding())), 'hex') ELSE u.v END AS v
            FROM (VALUES (1, r.texts), (2, r.more)) AS a(a, v), unnest(a.v) WITH ORDINALITY AS u(v, n)) AS w) AS b
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, e.digest FROM every e
