-- The runner, if tasks are Available but the newest poll is old. In a large table polls that completed their task are
-- missing. If all Available tasks were created within the threshold, the runner was idle and is not reported. slow: the
-- silence is shorter than two polls of the slowest task that was polled least recently, which may be polled now.
-- Index: task__available_polled_at__idx, from both ends.
WITH \ir ../parts/newest_poll.sql
, newest AS MATERIALIZED ( -- else each use of a column would read the polls again
  SELECT p.poll,
         (SELECT count(*) FROM (SELECT FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 10001) a) AS waiting,
         (SELECT (t.polled_at).time
            FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                   ORDER BY polled_at DESC LIMIT 100) AS t
           WHERE isfinite((t.polled_at).time)
             AND (t.polled_at).time >= now() + :clock_ahead
           LIMIT 1) AS ahead,
         (SELECT max(extract(epoch FROM t.cpu_duration) / t.revision)::float8
            FROM (SELECT cpu_duration, revision FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 100) AS t
           WHERE t.revision > 0) AS poll_cpu
    FROM newest_poll p
)
SELECT 'runner:runner' AS id, extract(epoch FROM n.poll)::float8 AS since,
       jsonb_build_object('newest_poll', coalesce(date_trunc('second', n.poll)::text, 'the beginning'),
                          'waiting', CASE WHEN n.waiting > 10000 THEN '10k+' ELSE n.waiting::text END,
                          'slow', CASE WHEN n.poll_cpu > (:settings ->> 'runner_silent')::float8 / 2 AND n.poll > now() - make_interval(secs => 2 * n.poll_cpu) THEN 'poll' ELSE 'unknown' END,
                          'ahead', coalesce('. Or its clock is ahead: one poll is dated ' || date_trunc('second', n.ahead), '')) AS evidence
  FROM newest n
 WHERE n.waiting > 0
   AND (:ids IS NULL OR 'runner:runner' = ANY (:ids))
   AND coalesce(n.poll, '-infinity') < now() - :runner_silent
   AND EXISTS (SELECT FROM (SELECT created_at, polled_at FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 5000) w
                WHERE w.polled_at IS DISTINCT FROM NULL
                   OR w.created_at < now() - :runner_silent)
