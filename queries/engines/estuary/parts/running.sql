-- Asked tasks whose poll can be running, and why they are refused: a poll writes the inbox when it ends. A task that
-- fails repeatedly is idle only for short times. The operator can wait for such a time, or set early: by the engine's
-- rule, an executor aborts its poll when the heartbeat is older than 75 % of the timeout.
running AS (
  SELECT 'task:' || t.task_id AS id,
         CASE WHEN t.heartbeat < now() - 0.75 * :heartbeat_timeout_of_kind
              THEN 'the heartbeat is younger than the timeout. By the engine''s rule, the executor has aborted its poll: set early to act now, or wait'
              ELSE 'the heartbeat is younger than the timeout: a running poll would overwrite the inbox' END AS why,
         isfinite(t.heartbeat) AS for_now
    FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
     AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
     AND t.heartbeat >= now() - CASE WHEN (:args ->> 'early')::bool THEN 0.75 ELSE 1 END * :heartbeat_timeout_of_kind
)
