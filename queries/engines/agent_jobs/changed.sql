-- Changes since a time: the last update of each job.
-- needs: by_updated
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Index: one on jobs(updated_at) backwards.
-- title: recorded: the creation and the last update of a job; not recorded: the status before
SELECT 'job:' || j.id AS id, extract(epoch FROM j.updated_at)::float8 AS at,
       CASE WHEN j.status IN ('completed', 'failed') THEN 'finished' WHEN j.updated_at = j.created_at THEN 'created' ELSE 'updated' END AS what,
       NULL::text AS old, j.status::text AS new, 'update' AS part, j.updated_at || '|' || j.id AS place
  FROM (SELECT coalesce(split_part(:cursor::text::jsonb ->> 'update', '|', 1)::timestamptz, now()) AS at,
               coalesce(split_part(:cursor::text::jsonb ->> 'update', '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS c
 CROSS JOIN LATERAL (
       SELECT j.id, j.status, j.created_at, j.updated_at FROM :"schema".jobs j
        WHERE j.updated_at >= to_timestamp(:since) AND j.updated_at <= c.at AND (j.updated_at, j.id) < (c.at, c.id)
        ORDER BY j.updated_at DESC, j.id DESC LIMIT :limit) AS j
 ORDER BY j.updated_at DESC, j.id DESC
