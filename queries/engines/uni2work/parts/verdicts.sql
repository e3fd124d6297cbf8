-- Signs of life or death of the instances in `asked` (id, instance, since), which the including file has: their newest
-- lock, queued job and cron execution, compared with those of the other instances. Silence is a sign of death only if
-- others did the same later.
verdicts AS (
  WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole AS few),
\ir signs.sql
  , done AS MATERIALIZED (
    SELECT s.what, s.instance, max(s.at) AS at FROM signs s
     WHERE s.instance IS NOT NULL AND isfinite(s.at) AND s.at <= now()
     GROUP BY s.what, s.instance
  ),
  newest AS MATERIALIZED (
    SELECT d.*, row_number() OVER (PARTITION BY d.what ORDER BY d.at DESC) AS place FROM done d
  ),
  judged AS (
    SELECT a.id, a.instance, a.since, k.what, mine.at, o.at AS others, :stale AS stale
      FROM asked a
     CROSS JOIN (VALUES ('locks'), ('queued jobs'), ('cron executions')) AS k(what)
      LEFT JOIN done mine ON mine.what = k.what AND mine.instance = a.instance
      LEFT JOIN LATERAL (SELECT max(n.at) AS at FROM newest n WHERE n.place <= 2 AND n.what = k.what AND n.instance IS DISTINCT FROM a.instance) AS o ON true
  )
  SELECT j.id AS id, j.what AS witness,
         CASE WHEN j.at >= now() - j.stale THEN 'alive'
              WHEN j.at + j.stale < j.others THEN 'dead' ELSE 'unknown' END AS verdict,
         CASE WHEN j.instance IS NULL THEN 'not recorded: the lock names no instance'
              ELSE coalesce('the instance''s newest is ' || date_trunc('second', now() - j.at) || ' old', 'none of the instance in the searched rows')
                   || coalesce('; that of other instances is ' || date_trunc('second', now() - j.others) || ' old', '; none of other instances') END AS detail,
         j.since AS since
    FROM judged j
  UNION ALL
  SELECT a.id, 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat and does not renew a lock', a.since FROM asked a
)
