-- Nodes by id, one row for each id that exists.
-- Indexes: task_pkey, job_pkey; one on task(job_id) for the sums of a job; one on task_timer(task_id) for due times. If
-- the last one is missing, the 5,000 timers with the earliest deadline are read: a task without a timer among them is
-- known to have none only if the table has fewer timers. A job with more than 1,000 tasks in a large table has no sums.
WITH jobs AS MATERIALIZED (
  SELECT substr(i, 5)::uuid AS key FROM unnest(:ids) AS i WHERE i ~* '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
),
\ir parts/tasks.sql
, sizes AS MATERIALIZED (
  -- In a large table the tasks are counted first, with an index-only scan: the plan that reads a job's tasks may read the
  -- whole job before it applies a limit.
  SELECT k.key AS job_id, (SELECT count(*) FROM (SELECT FROM :"schema".task t WHERE t.job_id = k.key LIMIT 1001) AS o) AS tasks
    FROM jobs k
   WHERE 'task_by_job' = ANY (:met_needs) AND NOT 'task_scan' = ANY (:met_needs)
),
of_jobs AS MATERIALIZED (
  SELECT t.task_id, t.job_id, t.kind, t.kind_version, t.created_at, t.polled_at, t.revision, t.status, t.cpu_duration, t.poll_duration
    FROM :"schema".task t
   WHERE t.job_id = ANY (ARRAY(SELECT k.key FROM jobs k LEFT JOIN sizes z ON z.job_id = k.key WHERE coalesce(z.tasks, 0) <= 1000))
     AND 'task_by_job' = ANY (:met_needs)
),
asleep AS MATERIALIZED (
  SELECT task_id FROM tasks WHERE status = 'Blocked' UNION ALL SELECT task_id FROM of_jobs WHERE status = 'Blocked'
),
next AS MATERIALIZED (
  SELECT m.task_id, m.deadline
    FROM :"schema".task_timer m
   WHERE EXISTS (SELECT FROM asleep) AND NOT 'timer_by_task' = ANY (:met_needs)
   ORDER BY m.deadline, m.task_id
   LIMIT 5000
),
timers AS MATERIALIZED (
  SELECT 'timer_by_task' = ANY (:met_needs) OR (SELECT count(*) < 5000 FROM next) AS known
),
due AS MATERIALIZED (
  SELECT m.task_id, min(m.deadline) AS deadline
    FROM (SELECT n.task_id, n.deadline FROM next n WHERE n.task_id = ANY (ARRAY(SELECT task_id FROM asleep))
          UNION ALL
          SELECT o.task_id, o.deadline FROM :"schema".task_timer o
           WHERE 'timer_scan' = ANY (:met_needs) AND (o.task_id IN (SELECT task_id FROM asleep)) IS TRUE -- one scan, not a search for each
          UNION ALL
          SELECT o.task_id, o.deadline FROM :"schema".task_timer o
           WHERE 'timer_by_task' = ANY (:met_needs) AND NOT 'timer_scan' = ANY (:met_needs) AND o.task_id = ANY (ARRAY(SELECT task_id FROM asleep))) AS m
   GROUP BY m.task_id
),
sums AS (
  SELECT o.job_id,
         count(*) AS total,
         count(*) FILTER (WHERE o.status = 'Complete') AS complete,
         sum(o.revision) AS revision, sum(date_part('epoch', o.cpu_duration)) AS cpu, sum(date_part('epoch', o.poll_duration)) AS poll,
         max((o.polled_at).time) AS polled,
         (array_agg(o.kind || ' v' || o.kind_version ORDER BY o.created_at, o.task_id))[1] AS root,
         CASE WHEN bool_or(o.status = 'Blocked' AND d.deadline IS NULL AND NOT t.known OR o.status::text NOT IN ('Available', 'Blocked', 'Complete')) THEN 'unknown'
              WHEN bool_or(o.status = 'Blocked' AND d.deadline IS NULL) THEN 'blocked'
              WHEN bool_or(o.status = 'Available') THEN 'ready'
              WHEN bool_or(o.status = 'Blocked') THEN 'scheduled'
              ELSE 'done' END AS phase
    FROM of_jobs o LEFT JOIN due d ON d.task_id = o.task_id CROSS JOIN timers t
   GROUP BY o.job_id
),
\ir parts/newest_poll.sql
SELECT 'task:' || t.task_id AS id, 'job:' || t.job_id AS parent_id, 'job:' || t.job_id AS job_id, 'task' AS kind,
       t.kind || ' v' || t.kind_version AS title, t.status::text AS status,
       CASE WHEN t.status <> 'Blocked' THEN NULL WHEN d.deadline IS NOT NULL THEN 'scheduled' WHEN i.known THEN 'blocked' ELSE 'unknown' END AS phase,
       t.revision::int8 AS revision,
       extract(epoch FROM t.cpu_duration)::float8 AS cpu, extract(epoch FROM t.poll_duration)::float8 AS poll,
       extract(epoch FROM t.created_at)::float8 AS created_at, extract(epoch FROM (t.polled_at).time)::float8 AS changed_at,
       extract(epoch FROM d.deadline)::float8 AS due_at,
       NULL::float8 AS heartbeat_at, t.revision || ':' || t.status || ':' || t.xmin AS version,
       extract(epoch FROM now())::float8 AS now, t.ctid::text AS place
  FROM tasks t LEFT JOIN due d ON d.task_id = t.task_id CROSS JOIN timers i
UNION ALL
SELECT 'job:' || j.job_id, NULL, NULL, 'job',
       CASE WHEN z.tasks > 1000 THEN 'more than 1000 tasks'
            WHEN s.total IS NOT NULL THEN s.root || ' - ' || s.complete || '/' || s.total
            WHEN 'task_by_job' = ANY (:met_needs) THEN 'no tasks'
            ELSE 'job' END,
       NULL, coalesce(s.phase, 'unknown'),
       s.revision::int8, s.cpu, s.poll,
       extract(epoch FROM j.created_at)::float8, extract(epoch FROM s.polled)::float8,
       NULL, NULL, j.xmin::text, extract(epoch FROM now())::float8, NULL
  FROM :"schema".job j LEFT JOIN sums s ON s.job_id = j.job_id LEFT JOIN sizes z ON z.job_id = j.job_id
 WHERE j.job_id = ANY (ARRAY(SELECT k.key FROM jobs k))
UNION ALL
SELECT 'runner:runner', NULL, NULL, 'runner', 'runner (assumed to be the only one)', NULL,
       CASE WHEN n.poll > now() - :runner_silent THEN 'running' ELSE 'unknown' END,
       NULL, NULL, NULL, NULL, NULL, NULL, extract(epoch FROM n.poll)::float8, '-', extract(epoch FROM now())::float8, NULL
  FROM newest_poll n
 WHERE 'runner:runner' = ANY (:ids)
