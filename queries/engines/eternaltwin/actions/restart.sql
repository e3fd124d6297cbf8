-- Set the root task of a job to the job's initial state; delete all other tasks and all timers of the job. The root
-- keeps its id, because other tables may refer to it. Its revision is incremented and never reset, so that a running
-- poll with the old revision fails. The root is the oldest task of the job (assumed); if two tasks are the oldest, the
-- action is refused.
-- Indexes: one on task(job_id), one on task_timer(task_id).

-- :refused
-- A dry run may lack the argument confirm. A commit never does: the argument is required.
SELECT 'job:' || j.job_id AS id,
       CASE WHEN r.oldest IS NULL THEN 'the job has no task to restart'
            WHEN r.oldest > 1 THEN 'the root task is unknown: two tasks of the job have the same age'
            ELSE 'the root task is ' || r.root || ', but the argument confirm names another kind or version' END AS why
  FROM :"schema".job j
  LEFT JOIN LATERAL (SELECT count(*) AS oldest, min(t.kind || ' v' || t.kind_version) AS root
                       FROM :"schema".task t WHERE t.job_id = j.job_id
                      GROUP BY t.created_at ORDER BY t.created_at LIMIT 1) AS r ON true
 WHERE j.job_id = ANY (:job_keys)
   AND (r.oldest IS NULL OR r.oldest > 1 OR r.root IS DISTINCT FROM coalesce(:args ->> 'confirm', r.root))

-- :witnesses
-- No owner, lease or heartbeat is recorded: only polls tell about the runner. A job without unfinished tasks has no owner.
-- Index: task__available_polled_at__idx backwards.
WITH asked AS MATERIALIZED (
  SELECT 'job:' || t.job_id AS id, count(*) FILTER (WHERE t.status = 'Available') AS available, min(t.created_at) AS oldest,
         max((t.polled_at).time) FILTER (WHERE isfinite((t.polled_at).time)) AS polled,
         :runner_silent AS silent
    FROM :"schema".task t WHERE t.job_id = ANY (:job_keys)
     AND t.status <> 'Complete'
   GROUP BY t.job_id
),
runner AS MATERIALIZED (
  SELECT max((t.polled_at).time) AS polled
    FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
           ORDER BY polled_at DESC LIMIT 5000) AS t
   WHERE (t.polled_at).time < now() + :clock_ahead
)
SELECT a.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail, extract(epoch FROM a.polled)::float8 AS since
  FROM asked a CROSS JOIN runner r
 CROSS JOIN LATERAL (
   SELECT 'owner', 'unknown', 'not recorded: the engine has no owner, lease or heartbeat. It discards the result of a poll that this action overtakes'
   UNION ALL
   SELECT 'last poll of the job',
    CASE WHEN a.polled > now() - a.silent AND a.polled < now() + :clock_ahead THEN 'alive'
         WHEN a.available > 0 AND coalesce(a.polled, a.oldest) < now() - a.silent THEN 'dead' ELSE 'unknown' END,
    coalesce('an unfinished task was polled ' || date_trunc('second', now() - a.polled) || ' ago', 'no unfinished task was polled')
      || CASE WHEN a.available > 0 THEN ', and a task is Available' ELSE '; no task is Available, so none is to be polled' END
   UNION ALL
   SELECT 'runner',
    CASE WHEN r.polled < now() - a.silent AND a.available > 0 THEN 'dead' ELSE 'unknown' END,
    coalesce('its newest poll of an Available task of any job was ' || date_trunc('second', now() - r.polled) || ' ago', 'no poll of an Available task is recorded')
 ) AS w(witness, verdict, detail)

-- :change
-- needs: task_by_job timer_by_task
DELETE FROM :"schema".task_timer m USING :"schema".task t WHERE m.task_id = t.task_id AND t.job_id = ANY (:job_keys)

-- :change
-- needs: task_by_job timer_by_task
DELETE FROM :"schema".task t
 WHERE t.job_id = ANY (:job_keys)
   AND t.created_at > (SELECT min(o.created_at) FROM :"schema".task o WHERE o.job_id = t.job_id)

-- :change
-- needs: task_by_job timer_by_task
UPDATE :"schema".task t SET state = j.initial_state, output = NULL, status = 'Available', revision = t.revision + 1
  FROM :"schema".job j, unnest(:ids, :versions) AS seen(id, version)
 WHERE j.job_id = substr(seen.id, 5)::uuid
   AND j.xmin::text = seen.version
   AND t.job_id = j.job_id
RETURNING 'job:' || t.job_id AS id
