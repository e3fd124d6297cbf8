-- Tasks with a message that is not a known message of their type, while the task is not failing; the first such message.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: messages, names and heartbeat_timeout by type
-- $3 page int: maximum number of rows
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey.
WITH
\ir ../parts/messages.sql
(SELECT DISTINCT ON (t.wake_at, t.task_id) 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('position', t.position, 'digest', t.digest, 'message', t.shown,
                           'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM verdicts t
  WHERE t.verdict = 'unlisted' AND NOT t.suspect
  ORDER BY t.wake_at, t.task_id, t.position
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 5000
