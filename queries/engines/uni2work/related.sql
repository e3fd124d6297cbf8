-- Nodes that belong to these nodes, or that share their lock or bucket: other jobs of the same lock owner, the jobs of
-- a holder, jobs that a token bucket throttles, jobs with the content of a cron entry. A row without id: not all are
-- known, and why.
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists; cron_last_exec_pkey.
WITH given AS MATERIALIZED (
  SELECT i AS id, split_part(i, ':', 1) AS kind, substr(i, strpos(i, ':') + 1) AS key FROM unnest(:ids) AS i
),
head AS MATERIALIZED (
  SELECT q.id, q.content, q.lock_instance, q.lock_time, q.write_last_exec
    FROM :"schema".queued_job q ORDER BY q.id LIMIT :window::int
),
\ir parts/locked.sql
, holders AS MATERIALIZED (
  SELECT q.lock_instance FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT g.key::int8 FROM given g WHERE g.kind = 'job')) AND q.lock_instance IS NOT NULL
)
(SELECT 'job:' || l.id AS id, 'sibling' AS relation, 'locked by the same instance' AS note
   FROM locked l WHERE l.lock_instance IN (SELECT lock_instance FROM holders) AND 'job:' || l.id NOT IN (SELECT g.id FROM given g)
  LIMIT :limit)
UNION ALL
(SELECT 'job:' || l.id, 'descendant', '' FROM locked l
  WHERE l.lock_instance::text IN (SELECT g.key FROM given g WHERE g.kind = 'holder') LIMIT :limit)
UNION ALL
(SELECT 'job:' || h.id, 'waiter', 'jobs of a kind that takes tokens from it' FROM head h
  WHERE :settings -> 'throttled_by' ->> (h.content ->> 'job') IN (SELECT g.key FROM given g WHERE g.kind = 'bucket') LIMIT :limit)
UNION ALL
(SELECT 'job:' || h.id, 'descendant', 'queued by it' FROM head h
  WHERE h.content IN (SELECT c.job FROM :"schema".cron_last_exec c JOIN given g ON g.kind = 'cron' AND c.id = g.key::int8) LIMIT :limit)
UNION ALL
SELECT NULL, r, 'only ' || (:settings ->> 'window') || ' rows were searched, for locks at both ends, else the oldest'
  FROM unnest(ARRAY['sibling', 'descendant', 'waiter']) AS r
 WHERE (SELECT count(*) FROM head) = :window::int
