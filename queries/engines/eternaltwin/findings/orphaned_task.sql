-- Blocked tasks of a job whose root task is Complete.
-- needs: task_by_status, task_by_job
-- needs of ids: task_by_job
-- Indexes: a full scan of a small table; else one on task(status), at most 5,000 Blocked tasks; one on task(job_id),
-- once for each job. If created_at follows job_id in that index, one row of each job is read, else the whole job. With
-- ids, task_pkey.
WITH first AS MATERIALIZED (
  SELECT task_id, job_id FROM :"schema".task
   WHERE :ids IS NULL AND NOT 'task_scan' = ANY (:met_needs) AND status = 'Blocked' ORDER BY task_id LIMIT 5000
),
waiting AS MATERIALIZED (
  SELECT task_id, job_id FROM first
  UNION ALL
  SELECT task_id, job_id FROM :"schema".task WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs) AND status = 'Blocked'
  UNION ALL
  SELECT task_id, job_id FROM :"schema".task
   WHERE task_id = ANY (:task_keys) AND status = 'Blocked'
),
root AS MATERIALIZED (
  (SELECT DISTINCT ON (o.job_id) o.job_id, o.task_id, o.status, o.kind, o.kind_version, (o.polled_at).time AS ended
     FROM :"schema".task o
    WHERE 'task_scan' = ANY (:met_needs) AND o.job_id IN (SELECT job_id FROM waiting)
    ORDER BY o.job_id, o.created_at, o.task_id)
  UNION ALL
  SELECT j.job_id, r.*
    FROM (SELECT DISTINCT job_id FROM waiting) AS j
   CROSS JOIN LATERAL (SELECT o.task_id, o.status, o.kind, o.kind_version, (o.polled_at).time AS ended
                         FROM :"schema".task o WHERE o.job_id = j.job_id ORDER BY o.created_at, o.task_id LIMIT 1) AS r
   WHERE NOT 'task_scan' = ANY (:met_needs)
)
(SELECT 'task:' || w.task_id AS id, extract(epoch FROM r.ended)::float8 AS since,
        jsonb_build_object('root', r.task_id, 'root_kind', r.kind || ' v' || r.kind_version, 'root_ended', r.ended::text) AS evidence
   FROM waiting w JOIN root r ON r.job_id = w.job_id
  WHERE r.status = 'Complete' AND r.task_id <> w.task_id
  ORDER BY r.ended, w.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM first) = 5000
