-- List jobs that no instance takes by itself: orphaned lock, inconsistent lock, or unrecognised content. The engine
-- records no dead letters and no errors. A row without an id marks a truncated search.
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 met_needs text[]
-- $4 cursor text: severity|time|id of the last row of the previous page, or NULL
-- $5 page int: maximum number of rows
-- Indexes: those of parts/locks.sql; the start of queued_job_pkey.
WITH
\ir parts/locks.sql
,
dead AS (
  SELECT l.id, 7 AS severity, l.lock_time AS at, 'orphaned lock' AS cause, NULL AS error
    FROM locked l LEFT JOIN life f ON f.instance = l.lock_instance::text
   WHERE l.lock_instance IS NOT NULL
     AND l.lock_time < now() - make_interval(secs => ($2::jsonb ->> 'stale')::float8)
     AND (f.at IS NULL OR f.at <= l.lock_time + make_interval(secs => ($2::jsonb ->> 'stale')::float8)
          OR f.at < now() - make_interval(secs => ($2::jsonb ->> 'silent')::float8))
  UNION ALL
  SELECT l.id, 6, l.lock_time, 'inconsistent lock', CASE WHEN l.lock_time IS NULL THEN 'lock_time is missing' ELSE 'lock_instance is missing' END
    FROM locked l
   WHERE (l.lock_instance IS NULL) <> (l.lock_time IS NULL)
  UNION ALL
  SELECT w.id, 4, w.creation_time, 'unrecognised content', left(w.content::text, 300)
    FROM (SELECT q.id, q.content, q.creation_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'head')::float8::int) AS w
   WHERE jsonb_typeof(w.content -> 'job') IS DISTINCT FROM 'string'
),
placed AS (
  SELECT DISTINCT ON (d.id) d.*, coalesce(d.at, 'infinity') AS place
    FROM dead d
   WHERE $1::text[] IS NULL OR 'job:' || d.id = ANY ($1::text[])
   ORDER BY d.id, d.severity DESC
)
(SELECT 'job:' || p.id AS id, p.severity || '|' || p.place || '|' || p.id AS cursor, p.severity::int8 AS severity,
        extract(epoch FROM p.at)::float8 AS since,
        CASE WHEN p.severity = 4 THEN p.cause
             ELSE p.cause || ' · ' || left(coalesce(q.content ->> 'job', q.content ->> 'tag', '(unrecognised)'), 80) END AS cause,
        p.error::text AS error, NULL::text AS was,
        CASE WHEN q.lock_instance IS NULL AND q.lock_time IS NULL THEN 'not locked' ELSE 'locked' END::text AS is_now
   FROM placed p JOIN :"schema".queued_job q ON q.id = p.id
  WHERE $4::text IS NULL
     OR (- p.severity, p.place, p.id)
        > (- split_part($4::text, '|', 1)::int, split_part($4::text, '|', 2)::timestamptz, split_part($4::text, '|', 3)::int8)
  ORDER BY - p.severity, p.place, p.id
  LIMIT $5::int)
UNION ALL
SELECT NULL, 'the first ' || ($2::jsonb ->> 'head') || ' jobs', NULL, NULL, NULL, NULL, NULL, NULL
 WHERE $1::text[] IS NULL
   AND (EXISTS (SELECT FROM :"schema".queued_job q ORDER BY q.id OFFSET ($2::jsonb ->> 'head')::float8::int LIMIT 1))
