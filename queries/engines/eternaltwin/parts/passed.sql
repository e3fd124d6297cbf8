-- For each kind and version of `waiting` (waiting.sql): what the runner polled within the threshold.
-- changed: an Available task whose row is older was skipped. A task that a timer made Available a moment ago looks the
-- same, but its row has just changed. The age of a row is that of its xmin. The runner polls the task that waits longest
-- first, so polls of three other ticks must have been written since; for five tasks of a kind and version, polls of three
-- tasks that were created after their polls.
-- newest: the newest version of the kind that is polled; same: this one is. polling: a poll is recent.
-- busy: polls of two ticks of at least 20 Available tasks each, while tasks of several kinds were never polled. A tick that
-- reaches the last row gives all Available tasks one time, so these are not reached.
-- Indexes: task__available_polled_at__idx, the 2,000 polled last; task_timer_pkey with task_pkey for the Blocked tasks of the
-- next 100 timers. A small table is scanned instead.
passed AS MATERIALIZED (
  WITH recent AS MATERIALIZED (
    SELECT kind, kind_version, created_at, (polled_at).time AS polled, age(xmin) AS changed, true AS available
      FROM :"schema".task
     WHERE EXISTS (SELECT FROM waiting) AND status = 'Available' AND polled_at IS DISTINCT FROM NULL
     ORDER BY polled_at DESC
     LIMIT 2000
  ),
  idle AS MATERIALIZED (
    SELECT t.kind, t.kind_version, t.created_at, (t.polled_at).time AS polled, age(t.xmin) AS changed, false AS available
      FROM :"schema".task t
     WHERE EXISTS (SELECT FROM waiting) AND 'task_scan' = ANY (:met_needs) AND t.status <> 'Available'
    UNION ALL
    SELECT t.*
      FROM (SELECT task_id FROM :"schema".task_timer
             WHERE EXISTS (SELECT FROM waiting) AND NOT 'task_scan' = ANY (:met_needs) AND deadline > now()
             ORDER BY deadline LIMIT 100) AS m
     CROSS JOIN LATERAL (SELECT o.kind, o.kind_version, o.created_at, (o.polled_at).time AS polled, age(o.xmin) AS changed, false
                           FROM :"schema".task o WHERE o.task_id = m.task_id AND o.status = 'Blocked' LIMIT 1) AS t
  ),
  polls AS MATERIALIZED (
    SELECT r.* FROM (SELECT * FROM recent UNION ALL SELECT * FROM idle) AS r
     WHERE r.polled > now() - :late AND r.polled < now() + :clock_ahead
  ),
  busy AS (
    SELECT sum(k.tasks) AS tasks, mode() WITHIN GROUP (ORDER BY k.kind) AS kind
      FROM (SELECT count(*) AS tasks, mode() WITHIN GROUP (ORDER BY p.kind || ' v' || p.kind_version) AS kind
              FROM polls p WHERE p.available GROUP BY p.polled HAVING count(*) >= 20) AS k
    HAVING count(*) >= 2 AND (SELECT count(DISTINCT w.kind) FROM waiting w WHERE w.polled IS NULL) >= 2
  )
  SELECT w.kind, w.kind_version, b.tasks AS busy, b.kind AS busy_kind,
         (SELECT max(p.kind_version) FROM polls p WHERE p.kind = w.kind) AS newest,
         EXISTS (SELECT FROM polls p WHERE p.kind = w.kind AND p.kind_version = w.kind_version) AS same,
         EXISTS (SELECT FROM polls p WHERE p.polled > now() - :runner_silent) AS polling,
         least((SELECT k.changed FROM (SELECT min(p.changed) AS changed FROM polls p GROUP BY p.polled) AS k ORDER BY k.changed OFFSET 2 LIMIT 1),
               (SELECT p.changed FROM polls p WHERE w.tasks >= 5 AND p.created_at > w.newest ORDER BY p.changed OFFSET 2 LIMIT 1)) AS changed
    FROM (SELECT o.kind, o.kind_version, max(o.polled) AS newest, count(o.polled) AS tasks FROM waiting o GROUP BY o.kind, o.kind_version) AS w
    LEFT JOIN busy b ON true
)
