-- Set the root task of a job to the job's initial state; delete all other tasks and all timers of the job. The root
-- keeps its id, because other tables may refer to it. Its revision is incremented and never reset, so that a running
-- poll with the old revision fails. The root is the oldest task of the job (assumed); if two tasks are the oldest, the
-- action is refused.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 args jsonb: confirm: kind and version of the root, for example "SendEmail v2"
-- Indexes: one on task(job_id), one on task_timer(task_id).

-- :lock
-- A job is locked when all its tasks are locked. If another transaction holds one of them, the job is reported as locked.
WITH held AS MATERIALIZED (
  SELECT t.task_id, t.job_id
    FROM :"schema".task t
   WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || j.job_id AS id, j.xmin::text AS version
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   AND (SELECT count(*) FROM held h WHERE h.job_id = j.job_id) = (SELECT count(*) FROM :"schema".task t WHERE t.job_id = j.job_id)
 ORDER BY j.job_id

-- :refused
SELECT 'job:' || j.job_id AS id,
       CASE WHEN r.oldest IS NULL THEN 'the job has no task to restart'
            WHEN r.oldest > 1 THEN 'the root task is unknown: two tasks of the job have the same age'
            ELSE 'the root task is ' || r.root || ', but the confirmation names another kind or version' END AS why
  FROM :"schema".job j
  LEFT JOIN LATERAL (SELECT count(*) AS oldest, min(t.kind || ' v' || t.kind_version) AS root
                       FROM :"schema".task t WHERE t.job_id = j.job_id
                      GROUP BY t.created_at ORDER BY t.created_at LIMIT 1) AS r ON true
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   AND (r.oldest IS NULL OR r.oldest > 1 OR r.root IS DISTINCT FROM ($3::jsonb ->> 'confirm'))

-- :rows
SELECT 'job:' || t.job_id AS id, 'task' AS "table", t.task_id::text AS key,
\ir ../parts/task_row.sql
  FROM :"schema".task t
 WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
UNION ALL
SELECT 'job:' || t.job_id, 'task_timer', m.deadline || ' ' || m.task_id, row_to_json(m)
  FROM :"schema".task_timer m JOIN :"schema".task t ON t.task_id = m.task_id
 WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))

-- :change
DELETE FROM :"schema".task_timer m USING :"schema".task t WHERE m.task_id = t.task_id AND t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))

-- :change
DELETE FROM :"schema".task t
 WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   AND t.created_at > (SELECT min(o.created_at) FROM :"schema".task o WHERE o.job_id = t.job_id)

-- :change
UPDATE :"schema".task t SET state = j.initial_state, output = NULL, status = 'Available', revision = t.revision + 1
  FROM :"schema".job j, unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE j.job_id = substr(seen.id, 5)::uuid
   AND j.xmin::text = seen.version
   AND t.job_id = j.job_id
RETURNING 'job:' || t.job_id AS id
