-- Report the queue if most of the oldest rows wait longer than the threshold and no lock is newer than the threshold.
-- kinds: queue
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- Index: both ends of queued_job_pkey.
WITH
\ir ../parts/flow.sql
SELECT 'queue:all' AS id, extract(epoch FROM f.oldest)::float8 AS since,
       jsonb_build_object('waiting', f.waiting, 'of', f.n, 'oldest', date_trunc('second', f.oldest)::text,
                          'newest', coalesce(date_trunc('second', f.newest)::text, 'none')) AS evidence
  FROM flow f
 WHERE ($1::text[] IS NULL OR 'queue:all' = ANY ($1::text[]))
   AND f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
   AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8))
