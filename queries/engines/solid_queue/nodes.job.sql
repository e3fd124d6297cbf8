-- Jobs by id. The status of a job is the table that holds its execution.
-- Indexes: solid_queue_jobs_pkey, and those on job_id of the tables of executions.
SELECT 'job:' || j.id AS id, 'queue:' || j.queue_name AS parent_id, 'job' AS kind,
       j.class_name || coalesce(' - ' || j.concurrency_key, '') AS title,
\ir parts/status.sql
         AS status,
       extract(epoch FROM j.created_at)::float8 AS created_at,
       extract(epoch FROM greatest(j.updated_at, r.created_at, c.created_at, f.created_at, b.created_at, s.created_at))::float8 AS changed_at,
       extract(epoch FROM CASE WHEN j.finished_at IS NULL THEN coalesce(s.scheduled_at, r.created_at) END)::float8 AS due_at,
       c.process_id::text AS owner, extract(epoch FROM p.last_heartbeat_at)::float8 AS heartbeat_at,
       substring(j.arguments FROM '"executions": ?([0-9]{1,9})')::int8 AS attempts,
\ir parts/error.sql
         AS error,
\ir parts/version.sql
         AS version, extract(epoch FROM now())::float8 AS now, j.ctid::text AS place
\ir parts/jobs.sql
