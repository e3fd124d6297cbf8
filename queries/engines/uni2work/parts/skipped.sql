-- Oldest rows that wait too long, and whether workers took others meanwhile (`others`) instead of older ones first.
-- While workers take jobs, a long queue is no fault: then few of the later jobs have been taken. Needs parts/flow.sql.
late AS MATERIALIZED (
  SELECT h.id, h.creation_time, f.waiting, f.n,
         CASE WHEN f.in_order THEN h.passed > 0 AND h.passed >= h.later * ($2::jsonb ->> 'passed_share')::float8
              ELSE coalesce(greatest(f.newest, f.executed) > h.creation_time, false) OR h.passed > 0 END AS others,
         f.in_order
    FROM placed h CROSS JOIN flow f
   WHERE h.waits
     AND NOT (f.waiting >= ($2::jsonb ->> 'untaken_rows')::float8::int AND f.waiting * 2 > f.n
              AND (f.newest IS NULL OR f.newest < now() - make_interval(secs => ($2::jsonb ->> 'untaken')::float8)))
     AND ($1::text[] IS NULL OR 'job:' || h.id = ANY ($1::text[]))
), skipped AS MATERIALIZED (
  SELECT l.* FROM late l WHERE l.others ORDER BY l.creation_time, l.id LIMIT $3::int
)
