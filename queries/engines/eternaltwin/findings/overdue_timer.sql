-- Blocked tasks whose first timer is overdue, oldest first.
-- Indexes: task_timer_pkey, the first 5,000 timers; task_pkey, once for each timer until the page is full, and not for
-- those that one scan of a small table excludes; those of the included part.
WITH \ir ../parts/newest_poll.sql
(SELECT 'task:' || m.task_id AS id, extract(epoch FROM m.deadline)::float8 AS since,
        jsonb_build_object('deadline', m.deadline::text, 'late', CASE WHEN isfinite(m.deadline) THEN date_trunc('second', now() - m.deadline)::text ELSE 'infinite' END,
                           'status', t.status, 'behind', t.kind || ' v' || t.kind_version, 'kind', t.kind, 'kind_version', t.kind_version, 'revision', t.revision,
          'runner', (SELECT CASE WHEN n.poll >= now() - :runner_silent THEN 'The runner polls other tasks: it is behind, or fails here' ELSE 'The runner polls nothing' END FROM newest_poll n)) AS evidence
   FROM (SELECT task_id, min(deadline) AS deadline
           FROM (SELECT task_id, deadline FROM :"schema".task_timer
                  WHERE deadline < now()
                  ORDER BY deadline LIMIT 5000) AS past
          WHERE :ids IS NULL OR task_id = ANY (:task_keys)
          GROUP BY task_id
          ORDER BY min(deadline), task_id) AS m
  CROSS JOIN LATERAL (SELECT o.status, o.kind, o.kind_version, o.revision FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
  WHERE CASE WHEN 'task_scan' = ANY (:met_needs) THEN m.task_id IN (SELECT b.task_id FROM :"schema".task b WHERE b.status = 'Blocked') ELSE true END
    AND t.status = 'Blocked'
    AND m.deadline < now() - :overdue_timer_of_kind
  ORDER BY m.deadline, m.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".task_timer WHERE deadline < now() ORDER BY deadline OFFSET 5000)
