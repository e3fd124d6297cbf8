-- Set the backoff of a step to zero, which the engine treats as "retry now". Its state does not change; the engine
-- makes it pending and enqueues it.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why
  FROM asked_steps a
 CROSS JOIN LATERAL (SELECT :"schema".calculate_step_next_retry_time(a.backoff_request_seconds, a.last_attempted_at,
            (SELECT max(e.created_at) FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = a.workflow_step_uuid AND e.to_state = 'error'),
            a.attempts) AS at) AS w
 CROSS JOIN LATERAL (SELECT count(*) AS total, count(p.to_state) AS done
                       FROM :"schema".workflow_step_edges e
                       LEFT JOIN :"schema".workflow_step_transitions p ON p.workflow_step_uuid = e.from_step_uuid AND p.most_recent
                             AND p.to_state IN ('complete', 'resolved_manually')
                      WHERE e.to_step_uuid = a.workflow_step_uuid) AS k
 CROSS JOIN LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state NOT IN ('pending', 'waiting_for_retry') THEN 'it is ' || a.to_state || ', so it has no waiting time'
       WHEN a.attempts > 0 AND (a.attempts >= coalesce(a.max_attempts, 3) OR NOT a.retryable) THEN 'it has no attempts left. Retry gives it new ones'
       WHEN a.in_process THEN 'its in_process flag is set. Clear it first'
       WHEN k.total > k.done THEN 'it waits for ' || (k.total - k.done) || ' of its parents, not for a time'
       WHEN w.at IS NULL OR w.at <= now() THEN
         CASE WHEN a.task_state IN ('waiting_for_dependencies', 'waiting_for_retry') THEN 'it is already due. If it does not start, wake its task'
              ELSE 'it is already due' END END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
UPDATE :"schema".workflow_steps s
   SET backoff_request_seconds = 0, last_attempted_at = least(s.last_attempted_at, localtimestamp), updated_at = now()
  FROM seen n
 WHERE s.workflow_step_uuid = n.step AND n.state IN ('pending', 'waiting_for_retry')

-- :change
WITH \ir ../parts/changed.sql
, \ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
