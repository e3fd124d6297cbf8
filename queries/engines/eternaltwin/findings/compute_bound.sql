-- Unfinished tasks with long polls that use mostly CPU.
-- Index: task__available_polled_at__idx; reads the 5,000 tasks polled last.
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM (t.polled_at).time)::float8 AS since,
        jsonb_build_object('per_poll', round((t.cpu / t.revision)::numeric, 1) || ' s',
                           'kind', t.kind, 'kind_version', t.kind_version, 'status', 'Available',
                           'slow', CASE WHEN t.cpu / t.revision > (:settings ->> 'runner_silent')::float8 / 2 THEN 'poll' ELSE 'no' END,
                           'share', round((100 * t.cpu / t.poll)::numeric) || ' %',
                           'cpu', round(t.cpu::numeric, 1) || ' s', 'poll', round(t.poll::numeric, 1) || ' s', 'revision', t.revision) AS evidence
   FROM (SELECT task_id, kind, kind_version, polled_at, nullif(revision, 0)::float8 AS revision,
                extract(epoch FROM cpu_duration)::float8 AS cpu, nullif(extract(epoch FROM poll_duration), 0)::float8 AS poll
           FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC LIMIT 5000) AS t
  WHERE t.cpu / t.revision > coalesce(:settings -> t.kind ->> 'compute_bound', :settings ->> 'compute_bound')::float8
    AND t.cpu / t.poll > 0.9
    AND (:ids IS NULL OR t.task_id = ANY (:task_keys))
  ORDER BY t.cpu / t.revision DESC, t.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC OFFSET 5000)
