-- The root task of a job gets the job's initial state again; every other task and every timer of the job goes. The
-- root keeps its id, because other tables may keep it; its revision goes up, never back: a poll in flight with the old
-- revision must miss. The root is the oldest task of the job (assumed); where two are oldest, the action is refused.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- $3 args jsonb: confirm: kind and version of the root, as in "SendEmail v2"
-- Indexes: an index on task(job_id), one on task_timer(task_id).

-- :lock
-- A job counts as locked when every one of its tasks is; a task that somebody holds makes the job busy.
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
       CASE WHEN r.oldest IS NULL THEN 'it has no task: nothing is left to restart'
            WHEN r.oldest > 1 THEN 'two of its tasks are equally old: which one is the root is not known'
            ELSE 'its root is ' || r.root || ', not what was confirmed: the initial state is for that kind and version' END AS why
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
