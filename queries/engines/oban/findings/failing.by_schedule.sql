-- Discarded jobs, newest first: in each of 50 queues and priorities, those that were scheduled last. A job is scheduled for each
-- attempt, and discarded soon after the last one.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan.
WITH RECURSIVE leaps AS (
  (SELECT j.queue, j.priority FROM :"schema".oban_jobs j WHERE :ids IS NULL AND j.state = 'discarded' ORDER BY j.queue, j.priority LIMIT 1)
  UNION ALL
  SELECT n.*
    FROM leaps l
   CROSS JOIN LATERAL (SELECT j.queue, j.priority FROM :"schema".oban_jobs j
                        WHERE j.state = 'discarded' AND (j.queue, j.priority) > (l.queue, l.priority) ORDER BY j.queue, j.priority LIMIT 1) AS n
),
places AS MATERIALIZED (SELECT l.* FROM leaps l LIMIT 50),
newest AS MATERIALIZED (
  SELECT j.id, p.queue, p.priority
    FROM places p
   CROSS JOIN LATERAL (SELECT j.id FROM :"schema".oban_jobs j WHERE j.state = 'discarded' AND j.queue = p.queue AND j.priority = p.priority
                        ORDER BY j.scheduled_at DESC, j.id DESC LIMIT 201) AS j
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.discarded_at)::float8 AS since,
       jsonb_build_object('worker', j.worker, 'discarded', date_trunc('second', j.discarded_at)::text, 'attempts', j.attempt, 'error', coalesce(
       left((SELECT CASE WHEN e.text LIKE 'Traceback%' THEN regexp_replace(rtrim(e.text, E' \n'), '^.*\n', '') ELSE e.text END
               FROM (SELECT coalesce(to_jsonb(j.errors) -> -1 ->> 'error', CASE WHEN jsonb_typeof(to_jsonb(j.errors) -> -1) = 'string' THEN to_jsonb(j.errors) ->> -1 END) AS text) AS e), 300)
         , 'no error is recorded')) AS evidence,
       CASE WHEN j.discarded_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (CASE WHEN :ids IS NULL THEN ARRAY(SELECT n.id FROM newest n) ELSE :job_keys END) AND j.state = 'discarded'
 ORDER BY j.discarded_at DESC, j.id DESC
 LIMIT :limit)
UNION ALL
(SELECT NULL, NULL, NULL, NULL FROM places p WHERE (SELECT count(*) FROM places) = 50
    OR (SELECT count(*) FROM newest n WHERE (n.queue, n.priority) = (p.queue, p.priority)) = 201 LIMIT 1)
