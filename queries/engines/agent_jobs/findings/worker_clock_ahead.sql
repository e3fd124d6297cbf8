-- The queue, if the clock of its workers is ahead.
-- needs: by_created
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- Index: one on jobs(created_at), the newest 2,000 jobs.
WITH
\ir ../parts/clocks.sql
SELECT 'queue:all' AS id, NULL::float8 AS since,
       jsonb_build_object('off', date_trunc('second', c.off)::text, 'jobs', c.jobs, 'ended', date_trunc('second', c.ended)::text,
                          'written', date_trunc('second', c.written)::text) AS evidence
  FROM clocks c
 WHERE c.off > interval '0' AND $2::jsonb IS NOT NULL
   AND ($1::text[] IS NULL OR 'queue:all' = ANY ($1::text[]))
