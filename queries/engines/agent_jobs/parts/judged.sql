-- The jobs of `late` (late.sql). overtaker is the job id of a newer job of the same agent that has ended without an
-- operator, if one of the next 50 has. Same order as the result, so that only the jobs of one page are checked. OFFSET
-- 0 makes the server check each job once.
judged AS (
  SELECT l.*, (SELECT o.job_id
                 FROM (SELECT n.job_id, n.completed_at, n.error FROM :"schema".jobs n
                        WHERE n.agent_id = l.agent_id AND n.created_at > l.created_at
                        ORDER BY n.created_at LIMIT 50) AS o
                WHERE o.completed_at IS NOT NULL AND coalesce(o.error, '') NOT LIKE '% by operator %'
                LIMIT 1) AS overtaker
    FROM (SELECT * FROM late ORDER BY created_at, id) AS l
   ORDER BY l.created_at, l.id OFFSET 0
)
