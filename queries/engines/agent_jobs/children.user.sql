-- Jobs of a user, newest first. The index serves each status separately, so the newest jobs of each status are merged.
-- kinds: user
-- needs: by_user
-- $1 parent text: local id: user:uuid
-- $2 settings jsonb: group: agent or user, the grouping of the tree
-- $3 cursor text: created_at|id of the last row of the previous page, or NULL
-- $4 page int: maximum number of rows
SELECT 'job:' || j.id AS id, j.created_at || '|' || j.id AS cursor, to_jsonb(n) AS node
  FROM (SELECT coalesce(split_part($3::text, '|', 1)::timestamptz, 'infinity') AS at,
               coalesce(split_part($3::text, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS c
 CROSS JOIN unnest(ARRAY['pending', 'active', 'delayed', 'paused', 'completed', 'failed']) AS s(status)
 CROSS JOIN LATERAL (
        SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
         WHERE j.user_id = substr($1::text, 6)::uuid AND j.status = s.status
           AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
         ORDER BY j.created_at DESC, j.id DESC LIMIT $4::int) AS j
 CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
       ) AS n
 ORDER BY j.created_at DESC, j.id DESC
 LIMIT $4::int
