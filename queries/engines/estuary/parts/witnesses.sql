-- Signs of life or death of the executors that poll the requested tasks. An idle task has no executor. Every locked or
-- due task has a wake_at in the past, so the other locked tasks of a type are among the first rows by wake_at.
-- Indexes: tasks_pkey, idx_tasks_ready_at (the first 2,000 rows).
witnesses AS (
  WITH asked AS MATERIALIZED (
    SELECT i AS id, t.task_type, t.heartbeat, t.xmin, :dry_run::text::float8 AS dry_run,
           CASE WHEN isfinite(t.heartbeat) THEN now() - t.heartbeat END AS age,
           :heartbeat_timeout_of_kind AS timeout
      FROM unnest(:ids) AS i
      JOIN :"schema".tasks t ON t.task_id = substr(i, 6)::macaddr8
     WHERE t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
  ),
  due AS MATERIALIZED (SELECT t.task_type, t.heartbeat FROM :"schema".tasks t WHERE t.wake_at <= now() ORDER BY t.wake_at LIMIT 2000),
  others AS MATERIALIZED (
    SELECT d.task_type, (array_agg(d.heartbeat ORDER BY d.heartbeat DESC))[1:2] AS newest, (SELECT count(*) = 2000 FROM due) AS partly
      FROM due d
     WHERE d.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(d.heartbeat) AND d.heartbeat <= now()
     GROUP BY d.task_type
  ),
  judged AS (
    SELECT a.*, now() - CASE WHEN o.newest[1] = a.heartbeat THEN o.newest[2] ELSE o.newest[1] END AS type_age, o.partly,
           extract(epoch FROM now())::float8 - a.dry_run AS since_dry_run
      FROM asked a LEFT JOIN others o ON o.task_type = a.task_type
  )
  SELECT j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail,
         CASE WHEN isfinite(j.heartbeat) THEN extract(epoch FROM j.heartbeat)::float8 END AS since
    FROM judged j
   CROSS JOIN LATERAL (
     SELECT 'heartbeat',
      CASE WHEN j.age IS NULL OR j.age < interval '0' THEN 'unknown' WHEN j.age > 0.75 * j.timeout THEN 'dead' ELSE 'alive' END,
      CASE WHEN j.age IS NULL THEN j.heartbeat || ' is not a time'
           WHEN j.age < interval '0' THEN date_trunc('second', -j.age) || ' ahead of the server''s clock'
           ELSE date_trunc('second', j.age) || ' old; an executor renews it before it is older than ' || 0.75 * j.timeout || ', and loses the task after ' || j.timeout END
     UNION ALL
     SELECT 'second read of the heartbeat',
      CASE WHEN j.since_dry_run > 0.75 * extract(epoch FROM j.timeout) THEN 'dead' ELSE 'unknown' END,
      CASE WHEN j.dry_run IS NULL THEN 'read once until now; the commit changes the task only if it has not moved'
           ELSE 'it has not moved in the ' || make_interval(secs => round(least(greatest(since_dry_run, 0), 1e9)::numeric, 1)) || ' since the dry run' END
     UNION ALL
     SELECT 'other tasks of the type',
      CASE WHEN j.type_age > j.timeout AND NOT j.partly AND j.age > 0.75 * j.timeout THEN 'dead' ELSE 'unknown' END,
      CASE WHEN j.type_age IS NULL THEN 'no other is locked'
           WHEN j.type_age > j.timeout THEN CASE WHEN j.partly THEN 'of the first 2,000' ELSE 'none has a live executor:' END || ' the newest heartbeat of those that are locked is ' || date_trunc('second', j.type_age) || ' old'
           ELSE 'an executor of this type is alive: the newest heartbeat of those that are locked is ' || date_trunc('second', j.type_age)
                || ' old; the row does not name its own executor' END
   ) AS w(witness, verdict, detail)
)
