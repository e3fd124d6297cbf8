-- Jobs of an agent, newest first.
-- kinds: agent
-- needs: by_agent
-- cursor: created_at|id of the last row of the previous page, or NULL
WITH page AS (
  SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
   WHERE j.agent_id = substr(:parent, 7)::uuid
     AND j.created_at <= coalesce(split_part(:cursor, '|', 1)::timestamptz, 'infinity')
     AND (j.created_at, j.id) < (coalesce(split_part(:cursor, '|', 1)::timestamptz, 'infinity'),
                                 coalesce(split_part(:cursor, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
   ORDER BY j.created_at DESC, j.id DESC
   LIMIT :limit
),
\ir parts/page_nodes.sql
SELECT 'job:' || n.id AS id, n.cursor, n.node FROM page_nodes n ORDER BY n.created_at DESC, n.id DESC
