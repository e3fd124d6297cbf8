-- Tasks with a message that their type cannot decode; the first such message of each.
\ir ../parts/messages.sql
(SELECT DISTINCT ON (t.wake_at, t.task_id) 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('position', t.position, 'digest', t.digest, 'message', coalesce(t.shown, 'NULL'), 'why', t.why, 'heartbeat', t.batch,
                           'type', coalesce(:settings -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM verdicts t
  WHERE t.undecodable
  ORDER BY t.wake_at, t.task_id, t.verdict = 'unlisted', t.position
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM due) = 5000
