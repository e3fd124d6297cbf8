-- Oldest rows, with `later`, the ids after each, and `passed`, those of them that are gone or locked: successful jobs
-- leave no row, so workers took them. Each row has what is true of all: whether workers take any (alive), and whether
-- many jobs wait meanwhile (in_order). The newest signs that an instance took some job are a lock, a cron job that it
-- executed, and since when rows were deleted while unstick looked (moved); between two jobs no row is locked. One row
-- without an id if the queue is empty.
placed AS MATERIALIZED (
  WITH head AS MATERIALIZED (
    SELECT q.id, q.creation_time, q.lock_time, q.lock_time IS NOT NULL AS locked,
           q.lock_instance IS NULL AND q.lock_time IS NULL AND q.creation_time < now() - :late AS waits
      FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int
  ), seen AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE waits) AS waiting, min(creation_time) FILTER (WHERE waits) AS oldest,
           greatest(max(lock_time) FILTER (WHERE lock_time <= now() + :ahead),
                    (SELECT max(t.lock_time) FROM (SELECT lock_time FROM :"schema".queued_job ORDER BY id DESC LIMIT 1000) AS t WHERE t.lock_time <= now() + :ahead)) AS newest,
           (SELECT max(c."time") FROM (SELECT c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT 1000) AS c WHERE c."time" <= now()) AS executed,
           to_timestamp((:settings ->> 'moved')::float8) AS moved, max(id) AS last
      FROM head
  )
  SELECT h.id, h.creation_time, h.waits, s.last - h.id AS later,
         s.last - h.id - count(*) FILTER (WHERE NOT h.locked) OVER (ORDER BY h.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS passed,
         s.n, s.waiting, s.oldest, s.newest, s.executed, s.moved, alive, s.waiting > :queue_long AND alive AS in_order
    FROM seen s
   CROSS JOIN LATERAL (SELECT coalesce(greatest(s.newest, s.executed, s.moved) > now() - :late, false) AS alive) AS a
    LEFT JOIN head h ON true
)
