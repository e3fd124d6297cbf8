-- The rows that actions on jobs, instances, cron entries and token buckets may change.
-- Indexes: queued_job_pkey, cron_last_exec_pkey, unique_cron_last_exec.
images AS (
  WITH content AS MATERIALIZED (
    SELECT q.id, q.content FROM :"schema".queued_job q WHERE :action = 'skip' AND q.id = ANY (:job_keys)
  ), kept AS MATERIALIZED (
    -- `skip` deletes the row whose content is the key of the record that it inserts or changes.
    SELECT CASE WHEN EXISTS (SELECT FROM content)
                THEN set_config('unstick.content', (SELECT jsonb_object_agg(id, content)::text FROM content), true)
                ELSE current_setting('unstick.content', true) END AS text
     WHERE :action = 'skip'
  )
  SELECT 'job:' || q.id AS id, q.tableoid AS relation, q.ctid::text AS place
    FROM :"schema".queued_job q WHERE q.id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || h.id, c.tableoid, c.ctid::text
    FROM kept k CROSS JOIN jsonb_each(nullif(k.text, '')::jsonb) AS h(id, content) JOIN :"schema".cron_last_exec c ON c.job = h.content
   WHERE 'job:' || h.id = ANY (:ids)
  UNION ALL
  SELECT 'cron:' || c.id, c.tableoid, c.ctid::text
    FROM :"schema".cron_last_exec c WHERE c.id = ANY (:cron_keys)
  UNION ALL
  -- The newest rows of equal content, which include the row that `run_now` inserts.
  SELECT 'cron:' || c.id, q.tableoid, q.place
    FROM :"schema".cron_last_exec c
    JOIN (SELECT o.tableoid, o.ctid::text AS place, o.content FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT :head::int) AS q ON q.content = c.job
   WHERE :action = 'run_now' AND c.id = ANY (:cron_keys)
  UNION ALL
  -- The jobs that the section `lock` of `release` has locked, of which no row names the instance after the change.
  SELECT 'holder:' || h.instance, q.tableoid, q.ctid::text
    FROM jsonb_each_text(nullif(current_setting('unstick.held', true), '')::jsonb) AS h(id, instance) JOIN :"schema".queued_job q ON q.id = h.id::int8
   WHERE 'holder:' || h.instance = ANY (:ids)
)
