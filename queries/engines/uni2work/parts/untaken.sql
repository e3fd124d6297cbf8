-- Jobs that wait for long among the oldest rows, in an order, while others are taken; and how many there are.
head AS MATERIALIZED (
  SELECT q.id, q.creation_time, q.lock_instance, q.lock_time,
         q.lock_instance IS NULL AND q.lock_time IS NULL
           AND q.creation_time < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8) AS waits
    FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'head')::float8::int
), flow AS (
  SELECT count(*) AS n, count(*) FILTER (WHERE waits) AS waiting, min(creation_time) FILTER (WHERE waits) AS oldest,
         greatest(max(lock_time), (SELECT max(t.lock_time) FROM (SELECT lock_time FROM :"schema".queued_job ORDER BY id DESC LIMIT 1000) AS t)) AS newest
    FROM head
), passed AS MATERIALIZED (
  SELECT h.id, h.creation_time, f.waiting, f.n
    FROM head h CROSS JOIN flow f
   WHERE h.waits
     AND NOT (f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
              AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8)))
     AND ($1::text[] IS NULL OR 'job:' || h.id = ANY ($1::text[]))
   ORDER BY h.creation_time, h.id
   LIMIT $3::int
)
