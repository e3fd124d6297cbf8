-- Who has each node of `asked(id, began, who, patience)`, with the other work of them and of others in
-- `recent(created_at, who)`, which has at most 5,000 rows: `verdict` is what that work says of their life.
judged AS MATERIALIZED (
  WITH reach AS (SELECT CASE WHEN count(*) < 5000 THEN '-infinity'::timestamp ELSE min(r.created_at) END AS since FROM recent r),
  moves AS MATERIALIZED (
    SELECT r.who, max(r.created_at) AS at, row_number() OVER (ORDER BY max(r.created_at) DESC) AS place
      FROM recent r WHERE r.who IS NOT NULL GROUP BY r.who
  ),
  timed AS (
    SELECT a.*, CASE WHEN isfinite(a.began) THEN localtimestamp - a.began END AS age, m.at AS moved, o.at AS others,
           greatest(a.began, coalesce(m.at, e.since)) AS silent_since
      FROM asked a
     CROSS JOIN reach e
      LEFT JOIN moves m ON m.who = a.who
      LEFT JOIN LATERAL (SELECT max(p.at) AS at FROM moves p WHERE p.place <= 2 AND p.who <> a.who) AS o ON true
  )
  SELECT t.*, CASE
           WHEN t.who IS NULL THEN 'unknown'
           WHEN t.moved > t.began AND t.moved > localtimestamp - t.patience THEN 'alive'
           WHEN t.silent_since < localtimestamp - t.patience AND t.others > localtimestamp - t.patience THEN 'dead'
           ELSE 'unknown' END AS verdict
    FROM timed t
)
