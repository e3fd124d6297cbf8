-- Changes since a time: the last update of each job.
-- needs: by_updated
-- $1 since float8: seconds since 1970
-- $2 cursor text: JSON object with the last place of each part on the previous page, or NULL
-- $3 page int
-- Index: one on jobs(updated_at) backwards.
SELECT 'job:' || j.id AS id, extract(epoch FROM j.updated_at)::float8 AS at,
       CASE WHEN j.status IN ('completed', 'failed') THEN 'finished' WHEN j.updated_at = j.created_at THEN 'created' ELSE 'updated' END AS what,
       NULL::text AS old, j.status::text AS new, 'update' AS part, j.updated_at || '|' || j.id AS place
  FROM (SELECT coalesce(split_part($2::text::jsonb ->> 'update', '|', 1)::timestamptz, now()) AS at,
               coalesce(split_part($2::text::jsonb ->> 'update', '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS c
 CROSS JOIN LATERAL (
       SELECT j.id, j.status, j.created_at, j.updated_at FROM :"schema".jobs j
        WHERE j.updated_at >= to_timestamp($1::float8) AND j.updated_at <= c.at AND (j.updated_at, j.id) < (c.at, c.id)
        ORDER BY j.updated_at DESC, j.id DESC LIMIT $3::int) AS j
 ORDER BY j.updated_at DESC, j.id DESC
