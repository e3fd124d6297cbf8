-- Report the queue if its oldest jobs wait long, and workers take jobs in order.
-- kinds: queue
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- Index: both ends of queued_job_pkey.
WITH
\ir ../parts/flow.sql
, in_order AS (
  SELECT min(h.creation_time) AS oldest, count(*) AS waiting
    FROM placed h CROSS JOIN flow f
   WHERE h.waits AND NOT (h.passed > 0 AND h.passed >= h.later * ($2::jsonb ->> 'passed_share')::float8)
)
SELECT 'queue:all' AS id, extract(epoch FROM o.oldest)::float8 AS since,
       jsonb_build_object('waiting', o.waiting, 'of', f.n, 'oldest', date_trunc('second', o.oldest)::text,
                          'newest', date_trunc('second', f.newest)::text) AS evidence
  FROM flow f CROSS JOIN in_order o
 WHERE ($1::text[] IS NULL OR 'queue:all' = ANY ($1::text[]))
   AND f.in_order AND o.waiting > 0
