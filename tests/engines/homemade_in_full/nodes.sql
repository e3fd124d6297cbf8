-- Items by id, one row for each id that exists.
-- Index: work_items_pkey.
SELECT 'item:' || w.id AS id, 'item:' || w.parent_id AS parent_id, NULL::text AS job_id, 'item' AS kind, w.task AS title,
       w.state AS status,
       CASE w.state WHEN 'todo' THEN CASE WHEN w.due > now() THEN 'scheduled' ELSE 'ready' END END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       NULL::float8 AS created_at, NULL::float8 AS changed_at,
       CASE WHEN w.state = 'todo' THEN extract(epoch FROM w.due)::float8 END AS due_at,
       w.taken_by AS owner, extract(epoch FROM w.taken_at)::float8 AS heartbeat_at,
       w.tries::int8 AS attempts, w.max_tries::int8 AS max_attempts, w.error,
       w.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".work_items w
 WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i WHERE i ~ '^item:[0-9]{1,18}$'))
