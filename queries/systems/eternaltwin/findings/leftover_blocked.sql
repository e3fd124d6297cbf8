-- The root task has ended, a task below it is still Blocked.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
-- needs: task_by_status, task_by_job
SELECT 'task:' || t.task_id AS id, extract(epoch FROM (r.polled_at).time)::float8 AS since,
       jsonb_build_object('root', r.task_id, 'root_kind', r.kind || ' v' || r.kind_version, 'root_ended', (r.polled_at).time::text) AS evidence
  FROM task t
 CROSS JOIN LATERAL (SELECT o.* FROM task o WHERE o.job_id = t.job_id ORDER BY o.created_at, o.task_id LIMIT 1) AS r
 WHERE t.status = 'Blocked' AND r.status = 'Complete' AND r.task_id <> t.task_id
   AND ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
 ORDER BY (r.polled_at).time, t.task_id
 LIMIT $2::int
