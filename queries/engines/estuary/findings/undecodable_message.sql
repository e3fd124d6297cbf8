-- Tasks with a message that their type cannot decode; the first such message of each. A message is undecodable if it is not
-- [id, message], or if it is not a known message of the type and the task's last poll ended without a result. Reads locked
-- and ready tasks, the first 100 messages of each, without messages above 100 kB.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: messages, names and heartbeat_timeout by type
-- $3 page int: maximum number of rows
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey.
WITH
\ir ../parts/messages.sql
(SELECT DISTINCT ON (t.wake_at, t.task_id) 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('position', t.position, 'digest', t.digest, 'message', coalesce(t.shown, 'NULL'), 'why', t.why, 'heartbeat', t.batch,
                           'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM verdicts t
  WHERE t.undecodable
  ORDER BY t.wake_at, t.task_id, t.verdict = 'unlisted', t.position
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 5000
