-- Of each job in `executing` the newest sign of life of the producer that took it: its own, or that of another one of its
-- node that has run since before it took the job. The table is read once, and each node's producers pass once before its jobs in the
-- order of time, whatever their numbers. The table is unlogged: after a crash of the server its rows come back within seconds.
producer AS (
  WITH producers AS MATERIALIZED (SELECT o.uuid::text AS uuid, o.node, o.started_at, o.updated_at FROM :"schema".oban_producers o),
  beats AS (
    SELECT j.id, o.node, o.updated_at FROM executing j JOIN producers o ON o.uuid = j.attempted_by[2]
    UNION ALL
    SELECT e.id, e.node, max(e.updated_at) OVER (PARTITION BY e.node ORDER BY e.at)
      FROM (SELECT NULL::int8 AS id, o.node, o.started_at AS at, o.updated_at FROM producers o
            UNION ALL
            SELECT j.id, j.attempted_by[1], j.attempted_at, NULL FROM executing j WHERE j.attempted_at IS NOT NULL) AS e
  )
  SELECT DISTINCT ON (b.id) b.* FROM beats b WHERE b.id IS NOT NULL AND b.updated_at IS NOT NULL ORDER BY b.id, b.updated_at DESC
)
