-- Return the queue, lock holders, and groups of one job kind.
-- kinds: queue holder group
-- Indexes: both ends of queued_job_pkey, and one on queued_job(lock_time) if it exists; cron_last_exec_pkey.
-- Rows between the two ends are not read; titles show that. A holder's last change is its last activity.
WITH wanted AS MATERIALIZED (
  SELECT i AS id, split_part(i, ':', 1) AS kind, substr(i, strpos(i, ':') + 1) AS key FROM unnest(:ids) AS i
),
head AS MATERIALIZED (
  SELECT q.id, q.creation_time, q.lock_instance, q.lock_time,
         CASE WHEN EXISTS (SELECT FROM wanted WHERE kind = 'group') THEN q.content END AS content
    FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int
),
\ir parts/locked.sql
, contents AS MATERIALIZED (
  -- All at once, because ids of one time are near each other in the index.
  SELECT q.id, q.content FROM :"schema".queued_job q
   WHERE q.id = ANY (CASE WHEN EXISTS (SELECT FROM wanted WHERE kind = 'group') THEN ARRAY(SELECT l.id FROM locked l) END)
),
seen AS MATERIALIZED (
  -- Unlocked rows of the head, and all locked rows that were found.
  SELECT h.id, h.creation_time, 'none' AS holder, h.lock_time, h.content
    FROM head h WHERE h.lock_instance IS NULL AND h.lock_time IS NULL
  UNION ALL
  SELECT l.id, l.creation_time,
         CASE WHEN l.lock_instance IS NULL OR l.lock_time IS NULL THEN 'inconsistent' ELSE l.lock_instance::text END, l.lock_time,
         c.content
    FROM locked l LEFT JOIN contents c ON c.id = l.id
),
life AS (
  SELECT s.instance, max(s.at) AS at
    FROM (SELECT l.lock_instance::text AS instance, l.lock_time AS at FROM locked l
          UNION ALL
          (SELECT t.creation_instance::text, t.creation_time FROM :"schema".queued_job t ORDER BY t.id DESC LIMIT :head::int)
          UNION ALL
          (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT :head::int)) AS s
   WHERE isfinite(s.at) AND EXISTS (SELECT FROM wanted WHERE kind = 'holder')
   GROUP BY s.instance
),
holders AS (
  SELECT s.holder, count(*) AS n, min(s.creation_time) AS created, min(s.lock_time) AS first,
         md5(string_agg(s.id || '@' || coalesce(s.lock_time::text, '-'), ' ' ORDER BY s.id)) AS version
    FROM seen s GROUP BY s.holder
),
jobs AS (SELECT s.* FROM seen s WHERE EXISTS (SELECT FROM wanted WHERE kind = 'group')),
\ir parts/kinds.sql
, groups AS (
  SELECT k.holder, k.kind, count(*) AS n, min(k.creation_time) AS created, max(k.lock_time) AS changed
    FROM kinds k GROUP BY k.holder, k.kind
),
size AS (
  SELECT count(*) AS head, count(*) >= :head::int AS partial, min(creation_time) AS oldest,
         (SELECT count(*) FROM locked) AS locked,
         CASE WHEN count(*) >= :head::int AND NOT 'queue_by_lock_time' = ANY (:met_needs) THEN '+' ELSE '' END AS more -- locks
    FROM head
)
SELECT w.id, NULL::text AS parent_id, w.kind,
       'queue - ' || CASE WHEN z.partial THEN z.head || '+' ELSE z.head::text END || ' queued, ' || z.locked || z.more || ' locked' AS title,
       CASE WHEN z.locked > 0 THEN 'running' WHEN z.head > 0 THEN 'ready' ELSE 'done' END AS phase,
       extract(epoch FROM z.oldest)::float8 AS created_at, NULL::float8 AS changed_at, NULL::text AS owner,
       '-' AS version, extract(epoch FROM now())::float8 AS now
  FROM wanted w CROSS JOIN size z
 WHERE w.id = 'queue:all'
UNION ALL
SELECT w.id, 'queue:all', w.kind,
       CASE w.key WHEN 'none' THEN 'not locked - ' || h.n || CASE WHEN z.partial THEN ' in the oldest ' || z.head ELSE '' END
                  WHEN 'inconsistent' THEN 'inconsistent locks - ' || h.n || z.more
                  ELSE 'instance ' || left(w.key, 8) || ' - ' || h.n || z.more || CASE h.n || z.more WHEN '1' THEN ' lock' ELSE ' locks' END
                       || CASE WHEN f.at < now() - :stale
                               THEN ' - no activity since ' || to_char(timezone('UTC', f.at), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') ELSE '' END END,
       CASE WHEN w.key = 'none' THEN 'ready'
            WHEN f.at >= now() - :stale THEN 'running' ELSE 'unknown' END,
       extract(epoch FROM h.created)::float8, extract(epoch FROM f.at)::float8,
       CASE WHEN w.key NOT IN ('none', 'inconsistent') THEN w.key END, h.version, extract(epoch FROM now())::float8
  FROM wanted w JOIN holders h ON h.holder = w.key CROSS JOIN size z LEFT JOIN life f ON f.instance = w.key
 WHERE w.kind = 'holder'
UNION ALL
SELECT w.id, 'holder:' || g.holder, w.kind,
       g.kind || ' - ' || g.n || CASE WHEN g.holder <> 'none' THEN z.more WHEN z.partial THEN ' in the oldest ' || z.head ELSE '' END,
       CASE g.holder WHEN 'none' THEN 'ready' WHEN 'inconsistent' THEN 'unknown' ELSE 'running' END,
       extract(epoch FROM g.created)::float8, extract(epoch FROM g.changed)::float8,
       CASE WHEN g.holder NOT IN ('none', 'inconsistent') THEN g.holder END, '-', extract(epoch FROM now())::float8
  FROM wanted w JOIN groups g ON g.holder || '|' || g.kind = w.key CROSS JOIN size z
 WHERE w.kind = 'group'
