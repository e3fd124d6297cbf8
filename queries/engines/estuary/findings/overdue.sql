-- Idle tasks that wait for long, although their type is polled. An executor takes the task that is due longest first, so
-- tasks are skipped if one that became due later is being polled. Each skipped task is reported, and else once for each type
-- its oldest waiting task. slots_in_use reports types whose executor polls only tasks that were due earlier.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout and dequeue_interval by type; names, executors; overdue and overdue_skipped by type
-- $3 page int: maximum number of rows
-- Indexes: those of the included part.
WITH
\ir ../parts/types.sql
,
late AS (
  SELECT w.task_id, w.wake_at, y.type, y.polls, y.waiting, y.upcoming, l.limit,
         coalesce(w.wake_at < y.latest - y.patience, false) OR y.taken AS skipped, y.taken,
         row_number() OVER (PARTITION BY w.task_type ORDER BY w.wake_at, w.task_id) AS place
    FROM waiting w
    JOIN types y ON y.task_type = w.task_type
    JOIN due d ON d.task_id = w.task_id
   CROSS JOIN LATERAL (
           SELECT make_interval(secs => coalesce($2::jsonb -> w.task_type::text ->> 'overdue_skipped', $2::jsonb ->> 'overdue_skipped')::float8) AS skipped,
                  make_interval(secs => coalesce($2::jsonb -> w.task_type::text ->> 'overdue', $2::jsonb ->> 'overdue')::float8) AS limit) AS l
   WHERE y.polled AND NOT y.slots_used
     AND d.heartbeat <= '0001-01-01T00:00:00Z'::timestamptz
     AND w.wake_at < now() - CASE WHEN coalesce(w.wake_at < y.latest - y.patience, false) OR y.taken THEN l.skipped ELSE l.limit END
)
(SELECT 'task:' || t.task_id AS id, CASE WHEN isfinite(t.wake_at) THEN extract(epoch FROM t.wake_at)::float8 END AS since,
        jsonb_build_object('type', t.type, 'due', date_trunc('second', t.wake_at)::timestamp::text, 'waiting', t.waiting, 'polls', t.polls,
                           'reason', CASE WHEN t.taken THEN 'unknown' WHEN t.skipped THEN 'skipped' ELSE 'busy' END,
                           'look', CASE WHEN t.taken THEN 'No cause is known. Tasks of this type seem to be taken: ' || t.upcoming || ' become due soon, but only ' || t.waiting || ' wait'
                                        WHEN t.skipped THEN 'Tasks that became due later are polled: the row may be locked, or the executor takes the newest tasks first'
                                        ELSE 'Tasks of this type that wait: ' || t.waiting || '; polled: ' || t.polls || '. All slots of the executors are in use, or they are too slow' END) AS evidence
   FROM late t
  WHERE CASE WHEN $1::text[] IS NULL THEN t.skipped OR t.place = 1
             ELSE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')) END
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 10000
