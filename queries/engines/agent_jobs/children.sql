-- Jobs of an agent, newest first.
-- kinds: agent
-- needs: by_agent
-- $1 parent text: local id: agent:uuid
-- $2 settings jsonb: group: agent or user, the grouping of the tree
-- $3 cursor text: created_at|id of the last row of the previous page, or NULL
-- $4 page int: maximum number of rows
SELECT 'job:' || j.id AS id, j.created_at || '|' || j.id AS cursor, to_jsonb(n) AS node
  FROM :"schema".jobs j
 CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
       ) AS n
 WHERE j.agent_id = substr($1::text, 7)::uuid
   AND j.created_at <= coalesce(split_part($3::text, '|', 1)::timestamptz, 'infinity')
   AND (j.created_at, j.id) < (coalesce(split_part($3::text, '|', 1)::timestamptz, 'infinity'),
                               coalesce(split_part($3::text, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
 ORDER BY j.created_at DESC, j.id DESC
 LIMIT $4::int
