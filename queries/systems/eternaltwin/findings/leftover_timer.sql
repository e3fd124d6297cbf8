-- Timers of tasks that are not Blocked.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
-- Indexes: task_timer_pkey from its left end (5,000 timers at most), task_pkey.
SELECT 'task:' || m.task_id AS id, extract(epoch FROM min(m.deadline) FILTER (WHERE m.deadline <= now()))::float8 AS since,
       jsonb_build_object('status', t.status, 'deadline', min(m.deadline)::text, 'timers', count(*)) AS evidence
  FROM (SELECT task_id, deadline FROM task_timer ORDER BY deadline LIMIT 5000) AS m
  JOIN task t ON t.task_id = m.task_id
 WHERE t.status <> 'Blocked'
   AND ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
 GROUP BY m.task_id, t.status
 ORDER BY min(m.deadline), m.task_id
 LIMIT $2::int
