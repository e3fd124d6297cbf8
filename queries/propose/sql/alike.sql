-- Values that many rows of a group share, of the newest rows: of each column, how many rows of the group have it.
-- Index: the key, backwards.
WITH sample AS MATERIALIZED (
  SELECT :group AS part, :values FROM :"schema".:"table" t ORDER BY :order LIMIT :rows
)
SELECT u.name, s.part, u.value, count(*)::float8 / (SELECT count(*) FROM sample o WHERE o.part = s.part) AS share
  FROM sample s CROSS JOIN LATERAL unnest(ARRAY[:names], ARRAY[:texts]) AS u(name, value)
 WHERE s.part IS NOT NULL
 GROUP BY u.name, s.part, u.value
HAVING count(*) > 0.1 * (SELECT count(*) FROM sample o WHERE o.part = s.part)
 LIMIT 2000
