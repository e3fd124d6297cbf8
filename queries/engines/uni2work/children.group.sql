-- List a holder's jobs of one kind, oldest first, within the searched rows.
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH \ir parts/jobs_of_holder.sql
, \ir parts/kinds.sql
SELECT 'job:' || q.id AS id, q.id::text AS cursor
  FROM kinds q
 WHERE (:cursor IS NULL OR q.id > :cursor::text::int8)
   AND substr(:parent, strpos(:parent, '|') + 1) = q.kind
 ORDER BY q.id
 LIMIT :limit
