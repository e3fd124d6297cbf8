-- The jobs of a user, newest first: the index serves each status for itself, so the newest of each are merged.
-- kinds: user
-- needs: by_user
-- $1 parent text: local id: user:uuid
-- $2 cursor text: created_at|id of the last row of the page before, or NULL
-- $3 page int: how many at most
SELECT 'job:' || m.id AS id, m.created_at || '|' || m.id AS cursor
  FROM (SELECT coalesce(split_part($2::text, '|', 1)::timestamptz, 'infinity') AS at,
               coalesce(split_part($2::text, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS c
 CROSS JOIN unnest(ARRAY['pending', 'active', 'delayed', 'paused', 'completed', 'failed']) AS s(status)
 CROSS JOIN LATERAL (
        SELECT j.id, j.created_at FROM jobs j
         WHERE j.user_id = substr($1::text, 6)::uuid AND j.status = s.status
           AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
         ORDER BY j.created_at DESC, j.id DESC LIMIT $3::int) AS m
 ORDER BY m.created_at DESC, m.id DESC
 LIMIT $3::int
