-- Nobody takes jobs: most of the oldest rows wait for longer than the threshold, and no lock is younger than that.
-- kinds: queue
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- Index: queued_job_pkey, both ends.
WITH head AS MATERIALIZED (
  SELECT q.id, q.creation_time, q.lock_instance, q.lock_time,
         q.lock_instance IS NULL AND q.lock_time IS NULL
           AND q.creation_time < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8) AS waits
    FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'head')::float8::int
), flow AS (
  SELECT count(*) AS n, count(*) FILTER (WHERE waits) AS waiting, min(creation_time) FILTER (WHERE waits) AS oldest,
         greatest(max(lock_time), (SELECT max(t.lock_time) FROM (SELECT lock_time FROM :"schema".queued_job ORDER BY id DESC LIMIT 1000) AS t)) AS newest
    FROM head
)
SELECT 'queue:all' AS id, extract(epoch FROM f.oldest)::float8 AS since,
       jsonb_build_object('waiting', f.waiting, 'of', f.n, 'oldest', date_trunc('second', f.oldest)::text,
                          'newest', coalesce(date_trunc('second', f.newest)::text, 'there is none')) AS evidence
  FROM flow f
 WHERE ($1::text[] IS NULL OR 'queue:all' = ANY ($1::text[]))
   AND f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
   AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8))
