-- Blocked tasks without a timer whose job has no other unfinished task that could wake them.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- needs: task_by_status, task_by_job, timer_by_task
-- needs of ids: task_by_job, timer_by_task
-- Indexes: one on task(status), at most 5,000 Blocked tasks; one on task_timer(task_id); one on task(job_id), at most 1,000
-- tasks of a job if the table is large: larger jobs are skipped. With ids, task_pkey.
WITH waiting AS MATERIALIZED (
  (SELECT task_id FROM :"schema".task WHERE $1::text[] IS NULL AND status = 'Blocked' ORDER BY task_id LIMIT 5000)
  UNION ALL
  SELECT task_id FROM :"schema".task
   WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'task:%')) AND status = 'Blocked'
),
untimed AS MATERIALIZED (
  SELECT t.*
    FROM waiting w
   CROSS JOIN LATERAL (SELECT o.task_id, o.job_id, o.kind, o.revision, (o.polled_at).time AS polled,
                              coalesce((o.polled_at).time, o.created_at) AS since
                         FROM :"schema".task o WHERE o.task_id = w.task_id LIMIT 1) AS t
   WHERE CASE WHEN 'timer_scan' = ANY ($4::text[]) THEN NOT EXISTS (SELECT FROM :"schema".task_timer m WHERE m.task_id = w.task_id)
              ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = w.task_id LIMIT 1) IS NULL END
     AND t.since < now() - make_interval(secs => coalesce($2::jsonb -> t.kind ->> 'lost_wakeup', $2::jsonb ->> 'lost_wakeup')::float8)
),
sizes AS MATERIALIZED (
  SELECT j.job_id, (SELECT count(*) FROM (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id LIMIT 1001) AS o) AS tasks
    FROM (SELECT DISTINCT job_id FROM untimed WHERE NOT 'task_scan' = ANY ($4::text[])) AS j
),
of_job AS MATERIALIZED (
  SELECT t.job_id, count(*) AS tasks, count(*) FILTER (WHERE t.status <> 'Complete') AS unfinished
    FROM :"schema".task t
   WHERE 'task_scan' = ANY ($4::text[]) AND t.job_id IN (SELECT job_id FROM untimed)
   GROUP BY t.job_id
  UNION ALL
  SELECT z.job_id, z.tasks,
         (SELECT count(*) FROM :"schema".task t WHERE t.job_id = z.job_id AND t.status <> 'Complete') AS unfinished
    FROM sizes z
   WHERE z.tasks <= 1000
)
(SELECT 'task:' || u.task_id AS id, extract(epoch FROM u.since)::float8 AS since,
        jsonb_build_object('kind', u.kind, 'revision', u.revision, 'polled_at', u.polled::text, 'tasks_in_job', j.tasks) AS evidence
   FROM untimed u JOIN of_job j ON j.job_id = u.job_id
  WHERE j.unfinished = 1
  ORDER BY u.since, u.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM waiting) = 5000
