-- The wait of a step goes: its backoff becomes nothing, which the engine reads as "try again now". Its state stays; the
-- engine itself makes it pending and hands it out.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- $5 args jsonb: none of its own
-- $6 limits jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, the unique ones on current transitions, idx_dlq_task.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN x.to_state IS NULL THEN 'none of its transitions is the current one: mend that by hand first'
                WHEN y.to_state IS NULL THEN 'none of its task''s transitions is the current one: mend that by hand first'
                WHEN y.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'its task is ' || y.to_state || ': nothing of it runs any more'
                WHEN x.to_state NOT IN ('pending', 'waiting_for_retry') THEN 'it is ' || x.to_state || ': it waits for no time'
                WHEN s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable) THEN 'its attempts are used up: retry gives it new ones'
                WHEN s.in_process THEN 'it counts as being in process: clear that first'
                WHEN k.total > k.done THEN 'it waits for ' || (k.total - k.done) || ' of its parents, not for a time'
                WHEN w.at IS NULL OR w.at <= now() THEN
                  CASE WHEN y.to_state IN ('waiting_for_dependencies', 'waiting_for_retry') THEN 'its time has come already: if nobody takes it, wake its task'
                       ELSE 'its time has come already' END END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
     CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
     ) AS x
      LEFT JOIN :"schema".task_transitions y ON y.task_uuid = s.task_uuid AND y.most_recent
     CROSS JOIN LATERAL (SELECT :"schema".calculate_step_next_retry_time(s.backoff_request_seconds, s.last_attempted_at,
                (SELECT max(e.created_at) FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = s.workflow_step_uuid AND e.to_state = 'error'),
                s.attempts) AS at) AS w
     CROSS JOIN LATERAL (SELECT count(*) AS total, count(p.to_state) AS done
                           FROM :"schema".workflow_step_edges e
                           LEFT JOIN :"schema".workflow_step_transitions p ON p.workflow_step_uuid = e.from_step_uuid AND p.most_recent
                                 AND p.to_state IN ('complete', 'resolved_manually')
                          WHERE e.to_step_uuid = s.workflow_step_uuid) AS k) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
UPDATE :"schema".workflow_steps s
   SET backoff_request_seconds = 0, last_attempted_at = least(s.last_attempted_at, localtimestamp), updated_at = now()
  FROM seen n
 WHERE s.workflow_step_uuid = n.step

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
