-- Node columns of a job j. If j is not the table itself, it must include xmin and ctid. $2 is settings.
       'job:' || j.id AS id,
       CASE $2::jsonb ->> 'group' WHEN 'user' THEN 'user:' || j.user_id ELSE 'agent:' || j.agent_id END AS parent_id,
       NULL::text AS job_id, 'job' AS kind, 'job ' || j.job_id AS title, j.status::text AS status,
       CASE j.status WHEN 'pending' THEN 'ready' WHEN 'active' THEN 'running' WHEN 'delayed' THEN 'scheduled'
            WHEN 'paused' THEN 'held' WHEN 'completed' THEN 'done' WHEN 'failed' THEN 'failed' ELSE 'unknown' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       extract(epoch FROM j.created_at)::float8 AS created_at, extract(epoch FROM j.updated_at)::float8 AS changed_at,
       NULL::float8 AS due_at, NULL::text AS owner, NULL::float8 AS heartbeat_at, NULL::int8 AS attempts,
       NULL::int8 AS max_attempts, j.error::text AS error,
       j.status || '|' || j.updated_at || ':' || j.xmin AS version, extract(epoch FROM now())::float8 AS now,
       j.ctid::text AS place
