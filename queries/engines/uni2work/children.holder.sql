-- List the kinds of a holder's jobs, within the searched rows.
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
\ir parts/jobs_of_holder.sql
, kinds AS (
  SELECT DISTINCT
\ir parts/kind.sql
         AS sort
    FROM jobs q
)
SELECT 'group:' || substr(:parent, 8) || '|' || k.sort AS id, k.sort AS cursor
  FROM kinds k
 WHERE :cursor IS NULL OR k.sort COLLATE "C" > :cursor COLLATE "C"
 ORDER BY k.sort COLLATE "C"
 LIMIT :limit
