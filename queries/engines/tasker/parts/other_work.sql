-- Signs of life or death of who has a node of `asked(id, began, who)`: other work of them in `recent(created_at, who)`, which
-- has at most 5,000 rows. The file continues with the detail of the second sign.
reach AS (SELECT CASE WHEN count(*) < 5000 THEN '-infinity'::timestamp ELSE min(r.created_at) END AS since FROM recent r),
moves AS MATERIALIZED (
  SELECT r.who, max(r.created_at) AS at, row_number() OVER (ORDER BY max(r.created_at) DESC) AS place
    FROM recent r WHERE r.who IS NOT NULL GROUP BY r.who
),
judged AS MATERIALIZED (
  SELECT a.*, CASE WHEN isfinite(a.began) THEN localtimestamp - a.began END AS age, m.at AS moved, o.at AS others, greatest(a.began, coalesce(m.at, e.since)) AS silent_since,
         make_interval(secs => (:settings ->> :'patience')::float8) AS patience
    FROM asked a
   CROSS JOIN reach e
    LEFT JOIN moves m ON m.who = a.who
    LEFT JOIN LATERAL (SELECT max(p.at) AS at FROM moves p WHERE p.place <= 2 AND p.who <> a.who) AS o ON true
)
SELECT j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail,
       extract(epoch FROM j.began AT TIME ZONE current_setting('TimeZone'))::float8 AS since
  FROM judged j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat, lease or advisory lock'
   UNION ALL
   SELECT 'other work of the ' || :'who',
    CASE WHEN j.who IS NULL THEN 'unknown'
         WHEN j.moved > j.began AND j.moved > localtimestamp - j.patience THEN 'alive'
         WHEN j.silent_since < localtimestamp - j.patience AND j.others > localtimestamp - j.patience THEN 'dead'
         ELSE 'unknown' END,
