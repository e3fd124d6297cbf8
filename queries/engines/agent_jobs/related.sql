-- Nodes that these jobs belong to, or that share it: the agent, and its other unfinished jobs. A row without id: not
-- all are known, and why.
-- Indexes: jobs_pkey; idx_jobs_agent_id_created_at, 1,000 rows of each agent.
WITH given AS MATERIALIZED (
  SELECT j.id, j.agent_id FROM :"schema".jobs j
   WHERE j.id = ANY (:job_keys)
),
agents AS MATERIALIZED (SELECT DISTINCT g.agent_id FROM given g LIMIT :limit),
newest AS MATERIALIZED (
  SELECT a.agent_id, n.id, n.status
    FROM agents a
   CROSS JOIN LATERAL (SELECT j.id, j.status FROM :"schema".jobs j
                        WHERE j.agent_id = a.agent_id AND 'by_agent' = ANY (:met_needs) ORDER BY j.created_at DESC LIMIT 1000) AS n
)
SELECT 'agent:' || a.agent_id AS id, 'parent' AS relation, '' AS note FROM agents a
UNION ALL
(SELECT 'job:' || n.id, 'sibling', 'unfinished jobs of the same agent'
   FROM newest n WHERE n.status NOT IN ('completed', 'failed') AND n.id NOT IN (SELECT id FROM given) LIMIT :limit)
UNION ALL
SELECT NULL, 'sibling', 'only the newest 1,000 jobs of an agent were read'
 WHERE EXISTS (SELECT FROM newest n GROUP BY n.agent_id HAVING count(*) = 1000)
UNION ALL
SELECT NULL, 'sibling', 'no index starts with jobs.agent_id' WHERE EXISTS (SELECT FROM given) AND NOT 'by_agent' = ANY (:met_needs)
UNION ALL
SELECT NULL, 'waiter', 'the queue outside of the database, if there is one, decides what it starts' WHERE EXISTS (SELECT FROM given)
