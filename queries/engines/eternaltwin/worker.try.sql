-- What the runner runs next on one task, :id (task:UUID), for unstick try: the write at the end of a poll, guarded by the revision, here of a poll that changes nothing.

-- :claim
-- kinds: task
-- proof: assumed
UPDATE :"schema".task AS t
   SET revision = t.revision + 1, polled_at = CAST(row(now(), 0) AS :"schema".job_tick), status = t.status, state = t.state, output = t.output, cpu_duration = t.cpu_duration + interval '0', poll_duration = t.poll_duration + interval '0'
  FROM (SELECT x.task_id, x.revision FROM :"schema".task AS x WHERE x.task_id = substr(:id, 6)::uuid AND x.status = 'Available') AS r
 WHERE t.task_id = r.task_id AND t.revision = r.revision
RETURNING t.task_id;
