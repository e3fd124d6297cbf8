-- The messages of locked and ready tasks, with a verdict: of the given ids, or of `ends` (ends.sql) and the 2,500 tasks
-- with the newest heartbeat. Reads the first 100 messages of each task, without messages above 100 kB. failing: the
-- last poll ended without a result, because a live poll renews the heartbeat before it is older than 75 % of the
-- timeout. held_long: the task is locked and due for more than three timeouts, and no task of its type waits for a
-- slot; with a message that is not known, its polls seem to fail again and again. mates: other tasks with the same
-- heartbeat. One dequeue took them together, and it fails for all of them if one message is malformed.
-- Indexes: idx_tasks_ready_at, the first rows if a task is held long; one on tasks(heartbeat), if it exists;
-- tasks_pkey.
verdicts AS (
  WITH due AS MATERIALIZED (
    SELECT e.* FROM ends e
    UNION ALL
    SELECT h.*
      FROM (SELECT task_id, task_type, wake_at, heartbeat, inbox FROM :"schema".tasks
             WHERE :ids IS NULL AND 'task_by_heartbeat' = ANY (:met_needs) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat <= now()
             ORDER BY heartbeat DESC LIMIT 2500) AS h
     WHERE h.task_id NOT IN (SELECT e.task_id FROM ends e)
    UNION ALL
    (SELECT task_id, task_type, wake_at, heartbeat, inbox FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
  ),
  elements AS MATERIALIZED (
    SELECT t.task_id, t.task_type, t.wake_at, t.heartbeat, l.timeout, e.position, e.element, left(e.element::text, 200) AS shown,
           t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat) AS held,
           t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat) AND t.heartbeat <= now() - 0.75 * l.timeout AS failing
      FROM due t
     CROSS JOIN LATERAL (SELECT :heartbeat_timeout_of_kind AS timeout) AS l
     CROSS JOIN LATERAL unnest(t.inbox[array_lower(t.inbox, 1):array_lower(t.inbox, 1) + 99]) WITH ORDINALITY AS e(element, position)
     WHERE cardinality(t.inbox) > 0
       AND e.position <= 100
       AND coalesce(octet_length(e.element::text), 0) < 100000
  ),
\ir judged.sql
  , long AS MATERIALIZED (
    SELECT j.task_id, j.task_type FROM judged j WHERE j.verdict = 'unlisted' AND j.held AND j.wake_at < now() - 3 * j.timeout AND j.heartbeat <= now()
  ),
  backlog AS MATERIALIZED (
    SELECT DISTINCT b.task_type
      FROM (SELECT task_type, heartbeat FROM :"schema".tasks
             WHERE EXISTS (SELECT FROM long) AND wake_at < now() - interval '1 minute' ORDER BY wake_at LIMIT 5000) AS b
     WHERE b.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
  ),
  mates AS MATERIALIZED (
    SELECT m.heartbeat, m.n
      FROM (SELECT d.heartbeat, count(*) - 1 AS n FROM due d WHERE EXISTS (SELECT FROM judged j WHERE j.verdict = 'malformed' AND j.held) GROUP BY d.heartbeat) AS m
     WHERE m.heartbeat IN (SELECT j.heartbeat FROM judged j WHERE j.verdict = 'malformed' AND j.held)
  )
  SELECT j.*, CASE WHEN j.verdict = 'malformed' AND j.held THEN j.heartbeat::text END AS batch,
         j.verdict = 'malformed' OR (j.verdict = 'unlisted' AND (j.failing OR h.held_long)) AS undecodable,
         CASE WHEN j.verdict = 'malformed'
              THEN 'is not [sender, message]: the dequeue that takes the task fails, and no task that it took is polled'
                   || coalesce('; it took ' || m.n || CASE m.n WHEN 1 THEN ' other' ELSE ' others' END, '')
              ELSE 'is not a known message of ' || coalesce(:settings -> 'names' ->> j.task_type::text, 'type ' || j.task_type)
                   || CASE WHEN j.failing THEN ', and the task''s last poll ended without a result'
                           ELSE ', and the task is locked and due since ' || date_trunc('second', j.wake_at)::timestamp || ' UTC, more than three timeouts' END END AS why
    FROM judged j
   CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM long l WHERE l.task_id = j.task_id) AND NOT EXISTS (SELECT FROM backlog b WHERE b.task_type = j.task_type) AS held_long) AS h
    LEFT JOIN mates m ON j.verdict = 'malformed' AND j.held AND m.heartbeat = j.heartbeat AND m.n > 0
)
