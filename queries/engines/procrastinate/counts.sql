-- Number of jobs in each phase, with the precision of each number. Of jobs to do, the first 10,000 in the order in which
-- workers take them: the first of a lock among them is the first of all.
-- needs: todo, doing
-- met_needs: a small table is counted whole; failed jobs need an index of their own
-- Indexes: procrastinate_jobs_priority_idx_v1, procrastinate_jobs_lock_idx_v1, one on (id) of failed jobs.
WITH doing AS MATERIALIZED (
  SELECT j.lock FROM :"schema".procrastinate_jobs j WHERE j.status = 'doing' ORDER BY j.lock LIMIT 10001
),
todo AS MATERIALIZED (
  SELECT CASE WHEN t.scheduled_at > now() THEN 'scheduled'
              WHEN t.lock IS NOT NULL AND (t.place > 1 OR t.lock IN (SELECT d.lock FROM doing d WHERE d.lock IS NOT NULL)) THEN 'blocked'
              ELSE 'ready' END AS phase
    FROM (SELECT r.*, row_number() OVER (PARTITION BY r.lock ORDER BY r.priority DESC, r.id) AS place
            FROM (SELECT j.id, j.priority, j.lock, j.scheduled_at FROM :"schema".procrastinate_jobs j
                   WHERE j.status = 'todo' ORDER BY j.priority DESC, j.id LIMIT 10001) AS r) AS t
),
failed AS MATERIALIZED (
  SELECT FROM :"schema".procrastinate_jobs j WHERE j.status = 'failed' AND 'failed' = ANY (:met_needs) ORDER BY j.id LIMIT 10001
),
whole AS MATERIALIZED (
  SELECT j.status::text AS status, count(*) AS n FROM :"schema".procrastinate_jobs j WHERE 'jobs_scan' = ANY (:met_needs) GROUP BY j.status
),
estimate AS (
  SELECT f.status, (c.reltuples * f.freq)::int8 AS n
    FROM pg_class c
    JOIN pg_stats s ON s.schemaname = :'schema' AND s.tablename = 'procrastinate_jobs' AND s.attname = 'status'
   CROSS JOIN unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f(status, freq)
   WHERE c.oid = format('%I.procrastinate_jobs', :'schema')::regclass AND c.reltuples >= 0
)
SELECT 'todo' AS status, p.phase, least(count(t.phase), 10000) AS n, CASE WHEN (SELECT count(*) FROM todo) > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM unnest(ARRAY['ready', 'scheduled', 'blocked']) AS p(phase) LEFT JOIN todo t ON t.phase = p.phase
 GROUP BY p.phase
UNION ALL
SELECT 'doing', NULL, least(count(*), 10000), CASE WHEN count(*) > 10000 THEN 'capped' ELSE 'exact' END FROM doing
UNION ALL
SELECT 'failed', NULL, CASE WHEN 'failed' = ANY (:met_needs) THEN least(count(*), 10000) END,
       CASE WHEN NOT 'failed' = ANY (:met_needs) THEN 'unknown' WHEN count(*) > 10000 THEN 'capped' ELSE 'exact' END
  FROM failed
UNION ALL
SELECT p.status, NULL,
       CASE WHEN 'jobs_scan' = ANY (:met_needs) THEN (SELECT coalesce(sum(w.n), 0) FROM whole w WHERE w.status = ANY (p.statuses))
            ELSE (SELECT sum(e.n) FROM estimate e WHERE e.status = ANY (p.statuses)) END::int8,
       CASE WHEN 'jobs_scan' = ANY (:met_needs) THEN 'exact'
            WHEN EXISTS (SELECT FROM estimate e WHERE e.status = ANY (p.statuses)) THEN 'estimated' ELSE 'unknown' END
  FROM (VALUES ('succeeded', ARRAY['succeeded']), ('cancelled', ARRAY['cancelled', 'aborted'])) AS p(status, statuses)
