-- Errors are compared without words that contain a digit, such as ids; those without other words, as they are. NULL is like no error.
, folded AS MATERIALIZED (
  SELECT f.*, left(coalesce(nullif(regexp_replace(f.error, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '', 'g'), ''), f.error), 200) AS alike
    FROM failures f
),
alike AS (
  SELECT f.alike FROM folded f WHERE f.first GROUP BY f.alike
  HAVING count(*) >= :least AND count(*) * 2 >= (SELECT count(*) FROM folded o WHERE o.first)
),
nodes AS (
  SELECT DISTINCT f.id, f.at, left(f.error, 300) AS error, f.alike, count(*) OVER (PARTITION BY f.alike) AS n FROM folded f WHERE f.alike IN (SELECT a.alike FROM alike a)
)
