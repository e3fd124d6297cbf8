-- Jobs by id.
-- Indexes: solid_queue_jobs_pkey, and those on job_id of the tables of executions.
WITH \ir parts/jobs.sql
SELECT 'job:' || j.id AS id, 'queue:' || j.queue_name AS parent_id, 'job' AS kind,
       j.class_name || coalesce(' - ' || j.concurrency_key, '') AS title, j.status,
       extract(epoch FROM j.created_at)::float8 AS created_at, extract(epoch FROM j.changed_at)::float8 AS changed_at,
       extract(epoch FROM CASE WHEN j.finished_at IS NULL THEN j.due_at END)::float8 AS due_at,
       j.process_id::text AS owner, extract(epoch FROM j.beat)::float8 AS heartbeat_at,
       substring(j.arguments FROM '"executions": ?([0-9]{1,9})')::int8 AS attempts,
       left(coalesce(nullif(regexp_replace(concat_ws(': ', substring(j.error FROM '"exception_class": ?"((?:[^"\\]|\\.)*)"'),
                                     substring(j.error FROM '"message": ?"((?:[^"\\]|\\.)*)"')), '\\(["\\/])', '\1', 'g'), ''), j.error), 300) AS error,
       j.version, extract(epoch FROM now())::float8 AS now, j.place::text AS place
  FROM jobs j
