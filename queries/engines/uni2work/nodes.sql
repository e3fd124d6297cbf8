-- Return the queue, lock holders, and groups of one job kind. Unknown ids return no row.
-- kinds: queue holder group
-- $1 ids text[]: local ids: queue:all, holder:instance (or none, or inconsistent), group:holder|kind
-- $2 settings jsonb: window and head: number of rows to read at each end of the queue
-- $3 met_needs text[]
-- Indexes: both ends of queued_job_pkey, and one on queued_job(lock_time) if it exists; cron_last_exec_pkey.
-- Rows between the two ends are not read; titles show that. A holder's last change is its last activity.
WITH wanted AS MATERIALIZED (
  SELECT i AS id, split_part(i, ':', 1) AS kind, substr(i, strpos(i, ':') + 1) AS key FROM unnest($1::text[]) AS i
),
head AS MATERIALIZED (
  SELECT q.id, q.creation_time, q.lock_instance, q.lock_time,
         CASE WHEN EXISTS (SELECT FROM wanted WHERE kind = 'group') THEN q.content END AS content
    FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'head')::float8::int
),
locked AS MATERIALIZED (
  SELECT w.id, w.creation_time, w.lock_instance, w.lock_time, w.content
    FROM (SELECT q.id, q.creation_time, q.lock_instance, q.lock_time,
                 CASE WHEN EXISTS (SELECT FROM wanted WHERE kind = 'group') THEN q.content END AS content
            FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
  UNION
  (SELECT q.id, q.creation_time, q.lock_instance, q.lock_time,
          CASE WHEN EXISTS (SELECT FROM wanted WHERE kind = 'group') THEN q.content END
     FROM :"schema".queued_job q
    WHERE q.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY ($3::text[])
    ORDER BY q.lock_time LIMIT ($2::jsonb ->> 'head')::float8::int)
),
seen AS MATERIALIZED (
  -- Unlocked rows of the head, and all locked rows that were found.
  SELECT h.id, h.creation_time, 'none' AS holder, h.lock_time, h.content
    FROM head h WHERE h.lock_instance IS NULL AND h.lock_time IS NULL
  UNION ALL
  SELECT l.id, l.creation_time,
         CASE WHEN l.lock_instance IS NULL OR l.lock_time IS NULL THEN 'inconsistent' ELSE l.lock_instance::text END, l.lock_time,
         l.content
    FROM locked l
),
life AS (
  SELECT s.instance, max(s.at) AS at
    FROM (SELECT l.lock_instance::text AS instance, l.lock_time AS at FROM locked l
          UNION ALL
          (SELECT t.creation_instance::text, t.creation_time FROM :"schema".queued_job t ORDER BY t.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)) AS s
   WHERE isfinite(s.at) AND EXISTS (SELECT FROM wanted WHERE kind = 'holder')
   GROUP BY s.instance
),
holders AS (
  SELECT s.holder, count(*) AS n, min(s.creation_time) AS created, min(s.lock_time) AS first,
         md5(string_agg(s.id || '@' || coalesce(s.lock_time::text, '-'), ' ' ORDER BY s.id)) AS version
    FROM seen s GROUP BY s.holder
),
groups AS (
  SELECT s.holder, s.sort, count(*) AS n, min(s.creation_time) AS created, max(s.lock_time) AS changed
    FROM (SELECT s.holder, s.creation_time, s.lock_time,
                 left(coalesce(CASE WHEN jsonb_typeof(s.content -> 'job') = 'string' THEN nullif(s.content ->> 'job', '') END,
                               CASE WHEN jsonb_typeof(s.content -> 'tag') = 'string' THEN nullif(s.content ->> 'tag', '') END,
                               CASE WHEN jsonb_typeof(s.content) = 'object'
                                    THEN (SELECT nullif(k, '') FROM jsonb_object_keys(s.content) AS k LIMIT 1) END,
                               '(unrecognised)'), 80) AS sort
            FROM seen s WHERE EXISTS (SELECT FROM wanted WHERE kind = 'group')) AS s
   GROUP BY s.holder, s.sort
),
size AS (
  SELECT count(*) AS head, count(*) >= ($2::jsonb ->> 'head')::float8::int AS partial, min(creation_time) AS oldest,
         (SELECT count(*) FROM locked) AS locked
    FROM head
)
SELECT w.id, NULL::text AS parent_id, NULL::text AS job_id, w.kind,
       'queue · ' || CASE WHEN z.partial THEN z.head || '+' ELSE z.head::text END || ' queued, ' || z.locked || ' locked' AS title,
       NULL::text AS status, CASE WHEN z.locked > 0 THEN 'running' WHEN z.head > 0 THEN 'ready' ELSE 'done' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       extract(epoch FROM z.oldest)::float8 AS created_at, NULL::float8 AS changed_at, NULL::float8 AS due_at,
       NULL::text AS owner, NULL::float8 AS heartbeat_at, NULL::int8 AS attempts, NULL::int8 AS max_attempts,
       NULL::text AS error, '-' AS version, extract(epoch FROM now())::float8 AS now
  FROM wanted w CROSS JOIN size z
 WHERE w.id = 'queue:all'
UNION ALL
SELECT w.id, 'queue:all', NULL, w.kind,
       CASE w.key WHEN 'none' THEN 'not locked · ' || h.n || CASE WHEN z.partial THEN ' in the oldest ' || z.head ELSE '' END
                  WHEN 'inconsistent' THEN 'inconsistent locks · ' || h.n
                  ELSE 'instance ' || w.key || ' · ' || h.n || CASE h.n WHEN 1 THEN ' lock' ELSE ' locks' END
                       || CASE WHEN f.at < now() - make_interval(secs => ($2::jsonb ->> 'stale')::float8)
                               THEN ' · no activity for ' || date_trunc('second', now() - f.at) ELSE '' END END,
       NULL,
       CASE WHEN w.key = 'none' THEN 'ready'
            WHEN f.at >= now() - make_interval(secs => ($2::jsonb ->> 'stale')::float8) THEN 'running' ELSE 'unknown' END,
       NULL, NULL, NULL, extract(epoch FROM h.created)::float8, extract(epoch FROM f.at)::float8, NULL,
       CASE WHEN w.key NOT IN ('none', 'inconsistent') THEN w.key END, NULL, NULL, NULL, NULL, h.version, extract(epoch FROM now())::float8
  FROM wanted w JOIN holders h ON h.holder = w.key CROSS JOIN size z LEFT JOIN life f ON f.instance = w.key
 WHERE w.kind = 'holder'
UNION ALL
SELECT w.id, 'holder:' || g.holder, NULL, w.kind,
       g.sort || ' · ' || g.n || CASE WHEN z.partial AND g.holder = 'none' THEN ' in the oldest ' || z.head ELSE '' END,
       NULL, CASE g.holder WHEN 'none' THEN 'ready' WHEN 'inconsistent' THEN 'unknown' ELSE 'running' END,
       NULL, NULL, NULL, extract(epoch FROM g.created)::float8, extract(epoch FROM g.changed)::float8, NULL,
       CASE WHEN g.holder NOT IN ('none', 'inconsistent') THEN g.holder END, NULL, NULL, NULL, NULL, '-', extract(epoch FROM now())::float8
  FROM wanted w JOIN groups g ON g.holder || '|' || g.sort = w.key CROSS JOIN size z
 WHERE w.kind = 'group'
