-- Oldest rows that wait too long although workers take others. Needs parts/flow.sql.
skipped AS MATERIALIZED (
  SELECT h.id, h.creation_time, f.waiting, f.n
    FROM head h CROSS JOIN flow f
   WHERE h.waits
     AND NOT (f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
              AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8)))
     AND ($1::text[] IS NULL OR 'job:' || h.id = ANY ($1::text[]))
   ORDER BY h.creation_time, h.id
   LIMIT $3::int
)
