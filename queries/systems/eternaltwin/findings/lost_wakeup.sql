-- Blocked, no timer, and nothing unfinished left in its job that could wake it.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- needs: task_by_status, task_by_job, timer_by_task
SELECT 'task:' || t.task_id AS id, extract(epoch FROM coalesce((t.polled_at).time, t.created_at))::float8 AS since,
       jsonb_build_object('kind', t.kind, 'revision', t.revision, 'polled_at', (t.polled_at).time::text,
                          'tasks_in_job', (SELECT count(*) FROM task o WHERE o.job_id = t.job_id)) AS evidence
  FROM task t
 WHERE t.status = 'Blocked'
   AND ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
   AND coalesce((t.polled_at).time, t.created_at)
       < now() - make_interval(secs => coalesce($2::jsonb -> t.kind ->> 'lost_wakeup', $2::jsonb ->> 'lost_wakeup')::float8)
   AND NOT EXISTS (SELECT FROM task_timer m WHERE m.task_id = t.task_id)
   AND NOT EXISTS (SELECT FROM task o WHERE o.job_id = t.job_id AND o.task_id <> t.task_id AND o.status <> 'Complete')
 ORDER BY coalesce((t.polled_at).time, t.created_at), t.task_id
 LIMIT $3::int
