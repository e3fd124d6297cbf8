-- Entrypoints whose jobs failed lately and were deleted, from the newest 2,000 log entries.
-- needs: log_by_time
-- Index: pgqueuer_log_created.
SELECT 'entrypoint:' || f.entrypoint AS id, extract(epoch FROM f.first)::float8 AS since,
       jsonb_build_object('entrypoint', f.entrypoint, 'jobs', CASE f.n WHEN 1 THEN '1 job' ELSE f.n || ' jobs' END,
                          'failed_at', date_trunc('second', f.last)::text, 'error', coalesce(left(f.error, 300), 'no exception is logged')) AS evidence
  FROM (SELECT l.entrypoint, count(*) AS n, min(l.created) AS first, max(l.created) AS last,
               (array_agg((l.traceback ->> 'exception_type') || ': ' || (l.traceback ->> 'exception_message') ORDER BY l.created DESC))[1] AS error
          FROM (SELECT g.entrypoint, g.status, g.created, g.traceback FROM :"schema".:"pgqueuer_log" g ORDER BY g.created DESC LIMIT 2000) AS l
         WHERE l.status = 'exception' AND l.created > now() - :failed_lately
         GROUP BY l.entrypoint) AS f
 WHERE :ids IS NULL OR 'entrypoint:' || f.entrypoint = ANY (:ids)
 ORDER BY f.first, f.entrypoint
 LIMIT :limit
