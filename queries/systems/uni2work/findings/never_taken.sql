-- Waits for a worker while others are taken: it fails at once and goes back, or the code cannot read it.
-- kinds: job
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
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
(SELECT 'job:' || h.id AS id, extract(epoch FROM h.creation_time)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', h.creation_time)::text, 'waiting', f.waiting, 'of', f.n) AS evidence
   FROM head h CROSS JOIN flow f
  WHERE h.waits
    AND NOT (f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
             AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8)))
    AND ($1::text[] IS NULL OR 'job:' || h.id = ANY ($1::text[]))
  ORDER BY h.creation_time, h.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'head')::float8::int)
