-- Schedules whose next run is past. A worker runs each within a second, and takes one of a silent worker after 30 seconds.
-- Index: none: there is a row for each schedule of the code; 1,000 at most are read.
WITH known AS MATERIALIZED (
  SELECT s.id, s.expression, s.entrypoint, s.next_run, s.heartbeat, s.status FROM :"schema".:"pgqueuer_schedules" s
   WHERE :ids IS NULL OR 'schedule:' || s.id = ANY (:ids) ORDER BY s.id LIMIT 1000
)
(SELECT 'schedule:' || s.id AS id, extract(epoch FROM s.next_run)::float8 AS since,
       jsonb_build_object('expression', s.expression, 'entrypoint', s.entrypoint, 'due', date_trunc('second', s.next_run)::text,
                          'look', CASE WHEN s.status = 'picked' THEN 'The worker that ran it last is silent' ELSE 'No worker has it in its code, or none runs' END) AS evidence
  FROM known s
 WHERE s.next_run < now() - :schedule_missed
   AND (s.status <> 'picked' OR s.heartbeat < now() - :schedule_missed)
 ORDER BY s.next_run, s.id
 LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM known) = 1000
