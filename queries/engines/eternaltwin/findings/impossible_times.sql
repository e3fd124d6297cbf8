-- Available tasks that were created or polled ahead of the server's clock, or that have a negative duration. A task that was
-- never polled and created ahead hides that it is starved. The runner polls a task with a poll ahead of the clock last.
-- Index: task__available_polled_at__idx backwards: 2,000 tasks that were never polled, and the 2,000 polled last.
WITH seen AS MATERIALIZED (
  (SELECT task_id, kind, kind_version, created_at, (polled_at).time AS polled, cpu_duration AS cpu, poll_duration AS poll
     FROM :"schema".task WHERE status = 'Available' AND polled_at IS NOT DISTINCT FROM NULL ORDER BY polled_at LIMIT 2000)
  UNION ALL
  (SELECT task_id, kind, kind_version, created_at, (polled_at).time, cpu_duration, poll_duration
     FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC LIMIT 2000)
),
judged AS (
  SELECT s.*, c.latest,
         CASE WHEN s.created_at > c.latest THEN 'created' WHEN s.polled > c.latest THEN 'polled'
              WHEN least(s.cpu, s.poll) < interval '0' THEN 'duration' END AS sort
    FROM seen s CROSS JOIN (SELECT now() + :clock_ahead AS latest) AS c
)
(SELECT 'task:' || t.task_id AS id, NULL::float8 AS since,
        jsonb_build_object('sort', t.sort, 'kind', t.kind, 'kind_version', t.kind_version,
                           'what', CASE t.sort
                                   WHEN 'created' THEN 'The task was created at ' || t.created_at || ', ahead of the server''s clock. Until then, nothing shows how long it waits'
                                   WHEN 'polled' THEN 'The task was polled at ' || t.polled || ', ahead of the server''s clock. The runner polls it after all other tasks'
                                   ELSE 'The task has a negative duration: CPU ' || t.cpu || ', polls ' || t.poll || '. A clock was set back during a poll, or the row was edited' END) AS evidence
   FROM judged t
  WHERE t.sort IS NOT NULL
    AND (:ids IS NULL OR t.task_id = ANY (:task_keys))
  ORDER BY t.sort, t.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM seen s WHERE s.polled IS NULL) = 2000
