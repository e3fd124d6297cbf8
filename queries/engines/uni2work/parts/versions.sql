-- The version of each job of the given ids, and whether it is as the operator or a finding's guard has it.
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
\ir same.sql
  FROM :"schema".queued_job q
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'job:' || q.id
 WHERE q.id = ANY (:job_keys)
