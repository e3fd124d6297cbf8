-- Queued jobs of the entrypoint whose slot a running job has. A row without id: not all are known, and why.
-- Indexes: the primary key, pgqueuer_ep_ea_idx.
WITH slots AS MATERIALIZED (
  SELECT DISTINCT j.entrypoint FROM :"schema".:"pgqueuer" j
   WHERE j.status = 'picked' AND j.slot IS NOT NULL
     AND j.id = ANY (:job_keys)
)
(SELECT 'job:' || q.id AS id, 'waiter' AS relation, 'queued jobs of the same entrypoint, which has a limit of slots' AS note
   FROM slots s
  CROSS JOIN LATERAL (SELECT q.id FROM :"schema".:"pgqueuer" q
                       WHERE q.entrypoint = s.entrypoint AND q.status = 'queued' AND 'queued_by_entrypoint' = ANY (:met_needs)
                       ORDER BY q.execute_after LIMIT :limit) AS q
  WHERE 'job:' || q.id <> ALL (:ids) LIMIT :limit)
UNION ALL
SELECT NULL, 'waiter', 'the engine''s index pgqueuer_ep_ea_idx is missing'
 WHERE EXISTS (SELECT FROM slots) AND NOT 'queued_by_entrypoint' = ANY (:met_needs)
