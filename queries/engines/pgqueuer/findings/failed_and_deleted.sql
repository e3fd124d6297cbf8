-- Entrypoints whose jobs failed lately and were deleted, from the newest 2,000 log entries.
-- needs: log_by_time
-- Index: pgqueuer_log_created.
SELECT 'entrypoint:' || f.entrypoint AS id, extract(epoch FROM f.first)::float8 AS since,
       jsonb_build_object('entrypoint', f.entrypoint, 'jobs', CASE WHEN f.part THEN 'At least ' ELSE '' END || f.n || CASE f.n WHEN 1 THEN ' job' ELSE ' jobs' END,
                          'failed_at', date_trunc('second', f.last)::text, 'error', coalesce(left(f.error, 300), 'no exception is logged')) AS evidence,
       CASE WHEN f.n >= 1000 OR f.part AND f.n >= 100 THEN 8 WHEN f.n >= 100 THEN 6 ELSE 5 END::int8 AS severity
  FROM (SELECT l.entrypoint, count(*) AS n, max(l.entries) = 2000 AS part, min(l.created) AS first, max(l.created) AS last,
               (array_agg((l.traceback ->> 'exception_type') || ': ' || (l.traceback ->> 'exception_message') ORDER BY l.created DESC))[1] AS error
          FROM (SELECT g.*, count(*) OVER () AS entries
                  FROM (SELECT * FROM :"schema".:"pgqueuer_log" ORDER BY created DESC LIMIT 2000) AS g) AS l
         WHERE l.status = 'exception' AND l.created > now() - :failed_lately
         GROUP BY l.entrypoint) AS f
 WHERE :ids IS NULL OR 'entrypoint:' || f.entrypoint = ANY (:ids)
 ORDER BY f.first, f.entrypoint
 LIMIT :limit
