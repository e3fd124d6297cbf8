-- One sample of the tasks polled last, for findings that need several samples. Polls dated far in the future are
-- ignored, as in samples/runner.sql.
-- Index: task__available_polled_at__idx backwards; at most 500 of the 5,000 tasks polled last. The state is sent as a
-- digest.
SELECT 'task:' || t.task_id AS id,
       jsonb_build_object('kind', t.kind, 'kind_version', t.kind_version, 'status', t.status, 'revision', t.revision,
                          'state', md5(t.state)) AS seen
  FROM (SELECT * FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
         ORDER BY polled_at DESC LIMIT 5000) AS t
 WHERE (t.polled_at).time < now() + :clock_ahead
   AND octet_length(t.state) < 1000000
 LIMIT 500
