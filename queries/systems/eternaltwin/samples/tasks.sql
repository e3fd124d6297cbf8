-- One look at the tasks polled last, for findings that need several looks.
-- Index: task__available_polled_at__idx backwards; 500 rows at most. Only a digest of the state is sent.
SELECT 'task:' || t.task_id AS id,
       jsonb_build_object('kind', t.kind, 'revision', t.revision, 'state', md5(t.state)) AS seen
  FROM (SELECT * FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
         ORDER BY polled_at DESC LIMIT 500) AS t
 WHERE octet_length(t.state) < 1000000
