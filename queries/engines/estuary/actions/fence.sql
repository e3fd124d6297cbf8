-- Make the executor abort a running poll. The executor renews the heartbeat only if the row still has the value that it
-- wrote, so a changed heartbeat stops it. Other executors take the task only when the new heartbeat is older than the
-- timeout, so two executors never poll it at the same time. If the heartbeat is older than the timeout, no poll is running
-- and release is the right action.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 settings jsonb: heartbeat_timeout by type
-- $4 dry_run text: time of the dry run; NULL in the dry run itself
-- Indexes: tasks_pkey; for the witnesses idx_tasks_ready_at.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz THEN 'the task is idle: no poll is running'
            ELSE 'the heartbeat is older than the timeout: no poll is running. Release the task instead' END AS why
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - make_interval(secs => coalesce($3::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $3::jsonb ->> 'heartbeat_timeout')::float8))

-- :witnesses
WITH given AS (SELECT $3::jsonb AS settings, $4::text::float8 AS dry_run),
\ir ../parts/executor_witnesses.sql

-- :rows
\ir ../parts/task_rows.sql

-- :change
UPDATE :"schema".tasks t SET heartbeat = now()
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
RETURNING 'task:' || t.task_id AS id
