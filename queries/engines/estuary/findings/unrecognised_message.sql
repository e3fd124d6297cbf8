-- Tasks with a message that is not a known message of their type, while the task is not failing; the first such message.
\ir ../parts/messages.sql
(SELECT DISTINCT ON (t.wake_at, t.task_id) 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('position', t.position, 'digest', t.digest, 'message', t.shown,
                           'type', coalesce(:settings -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM verdicts t
  WHERE t.verdict = 'unlisted' AND NOT t.suspect
  ORDER BY t.wake_at, t.task_id, t.position
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM due) = 5000
