-- Oldest rows (head) and whether workers take any of them (flow). The newest signs that an instance took some job are a lock and a
-- cron job that it executed, and since when rows were deleted while unstick looked (moved). Successful jobs leave no row: of `later`
-- ids after a row, `passed` are gone or locked, so workers took them. `alive`: there is a recent sign; between two jobs no row is
-- locked. `in_order`: many jobs wait while workers take jobs.
head AS MATERIALIZED (
  SELECT q.id, q.creation_time, q.lock_instance, q.lock_time, q.lock_time IS NOT NULL AS locked,
         q.lock_instance IS NULL AND q.lock_time IS NULL AND q.creation_time < now() - :untaken AS waits
    FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int
), flow AS (
  SELECT g.*, a.alive, g.waiting > :queue_long AND a.alive AS in_order FROM (
  SELECT count(*) AS n, count(*) FILTER (WHERE waits) AS waiting, min(creation_time) FILTER (WHERE waits) AS oldest,
         greatest(max(lock_time) FILTER (WHERE lock_time <= now() + :ahead),
                  (SELECT max(t.lock_time) FROM (SELECT lock_time FROM :"schema".queued_job ORDER BY id DESC LIMIT 1000) AS t WHERE t.lock_time <= now() + :ahead)) AS newest,
         (SELECT max(c."time") FROM (SELECT c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT 1000) AS c WHERE c."time" <= now()) AS executed,
         to_timestamp((:settings ->> 'moved')::float8) AS moved,
         max(id) AS last
    FROM head) AS g CROSS JOIN LATERAL (SELECT coalesce(greatest(g.newest, g.executed, g.moved) > now() - :untaken, false) AS alive) AS a
), placed AS (
  SELECT h.*, f.last - h.id AS later,
         f.last - h.id - count(*) FILTER (WHERE NOT h.locked) OVER (ORDER BY h.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS passed
    FROM head h CROSS JOIN flow f
)
