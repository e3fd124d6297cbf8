-- List the kinds of a holder's jobs, within the searched rows.
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH \ir parts/jobs_of_holder.sql
, \ir parts/kinds.sql
SELECT 'group:' || substr(:parent, 8) || '|' || k.kind AS id, k.kind AS cursor
  FROM (SELECT DISTINCT kind FROM kinds) AS k
 WHERE :cursor IS NULL OR k.kind COLLATE "C" > :cursor COLLATE "C"
 ORDER BY k.kind COLLATE "C"
 LIMIT :limit
