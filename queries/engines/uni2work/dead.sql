-- List jobs that no instance takes by itself: orphaned lock, inconsistent lock, or unrecognised content. The engine
-- records no dead letters and no errors. A row without an id marks a truncated search.
-- cursor: severity|time|id of the last row of the previous page, or NULL
-- Indexes: those of parts/locked.sql and parts/signs.sql; both ends of queued_job_pkey.
WITH \ir parts/locked.sql
, \ir parts/old_locks.sql
, dead AS (
  SELECT id, 8 AS severity, lock_time AS at, 'orphaned lock' AS cause, NULL AS error FROM old_locks WHERE silent
  UNION ALL
  SELECT l.id, 6, l.lock_time, 'inconsistent lock', CASE WHEN l.lock_time IS NULL THEN 'lock_time is missing' ELSE 'lock_instance is missing' END
    FROM locked l
   WHERE (l.lock_instance IS NULL) <> (l.lock_time IS NULL)
  UNION ALL
  SELECT w.id, 4, w.creation_time, 'unrecognised content', left(w.content::text, 300)
    FROM ((SELECT q.id, q.content, q.creation_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int / 2)
          UNION ALL
          (SELECT q.id, q.content, q.creation_time FROM :"schema".queued_job q ORDER BY q.id DESC LIMIT (:head::int + 1) / 2)) AS w
   WHERE jsonb_typeof(w.content -> 'job') IS DISTINCT FROM 'string'
),
placed AS (
  SELECT DISTINCT ON (d.id) d.*, coalesce(d.at, '-infinity') AS place
    FROM dead d
   WHERE :ids IS NULL OR 'job:' || d.id = ANY (:ids)
   ORDER BY d.id, d.severity DESC
)
(SELECT 'job:' || p.id AS id, p.severity || '|' || p.place || '|' || p.id AS cursor, p.severity::int8 AS severity,
        extract(epoch FROM p.at)::float8 AS since,
        CASE WHEN p.severity = 4 THEN p.cause
             ELSE p.cause || ' - ' || left(coalesce(q.content ->> 'job', q.content ->> 'tag', '(unrecognised)'), 80) END AS cause,
        p.error::text AS error, NULL::text AS was,
        CASE WHEN q.lock_instance IS NULL AND q.lock_time IS NULL THEN 'not locked' ELSE 'locked' END::text AS is_now
   FROM placed p JOIN :"schema".queued_job q ON q.id = p.id
  WHERE :cursor IS NULL
     OR (p.severity, p.place, p.id)
        < (split_part(:cursor, '|', 1)::int, split_part(:cursor, '|', 2)::timestamptz, split_part(:cursor, '|', 3)::int8)
  ORDER BY p.severity DESC, p.place DESC, p.id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, 'the ' || :head::int / 2 || ' oldest and the ' || (:head::int + 1) / 2 || ' newest jobs', NULL, NULL, NULL, NULL, NULL, NULL
 WHERE :ids IS NULL
   AND (EXISTS (SELECT FROM :"schema".queued_job q ORDER BY q.id OFFSET :head::int LIMIT 1))
