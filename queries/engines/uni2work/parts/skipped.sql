-- Oldest rows that wait too long, and whether workers took others meanwhile (`others`). Needs parts/flow.sql.
late AS MATERIALIZED (
  SELECT h.id, h.creation_time, f.waiting, f.n,
         coalesce(greatest(f.newest, f.executed) > h.creation_time, false) OR coalesce(h.gone, 0) > 0 AS others
    FROM placed h CROSS JOIN flow f
   WHERE h.waits
     AND NOT (f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
              AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8)))
     AND ($1::text[] IS NULL OR 'job:' || h.id = ANY ($1::text[]))
), skipped AS MATERIALIZED (
  SELECT l.* FROM late l WHERE l.others ORDER BY l.creation_time, l.id LIMIT $3::int
)
