-- Sections of all actions whose files do not have them.
-- versions: for each id, the version that the operator saw or the guard of a finding
-- Indexes: task_pkey, job_pkey; one on task(job_id), one on task_timer(task_id).

-- :lock
-- kinds: task
-- unchanged: the fields that a finding guards are the same; seen.version is its guard or a row version.
SELECT 'task:' || t.task_id AS id, t.revision || ':' || t.status || ':' || t.xmin AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('status', t.status, 'kind', t.kind, 'kind_version', t.kind_version,
                                    'state', md5(t.state)) @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged
  FROM :"schema".task t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id
   FOR UPDATE OF t SKIP LOCKED

-- :lock
-- kinds: job
-- A job is locked when all its tasks are locked. If another transaction holds one of them, the job is reported as locked.
WITH held AS MATERIALIZED (
  SELECT t.task_id, t.job_id
    FROM :"schema".task t WHERE t.job_id = ANY (:job_keys)
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || j.job_id AS id, j.xmin::text AS version
  FROM :"schema".job j WHERE j.job_id = ANY (:job_keys)
   AND (SELECT count(*) FROM held h WHERE h.job_id = j.job_id) = (SELECT count(*) FROM :"schema".task t WHERE t.job_id = j.job_id)
 ORDER BY j.job_id
