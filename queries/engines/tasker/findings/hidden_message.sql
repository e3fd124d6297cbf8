-- Find messages that their queue hides far longer than the visibility time, or whose time of sending is ahead of the
-- server's clock, so that their age looks harmless.
-- kinds: message
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue).
WITH queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE $2::jsonb ->> 'queue' = 'pgmq'
     AND (q.queue_name LIKE 'orchestration\_%' OR q.queue_name IN (SELECT 'worker_' || p.name || '_queue' FROM :"schema".task_namespaces p))
     AND ($1::text[] IS NULL OR EXISTS (SELECT FROM unnest($1::text[]) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir ../parts/messages.sql
, timed AS (
  SELECT m.queue_name, m.m, (m.m ->> 'at')::float8 AS at, (m.m ->> 'vt')::float8 - extract(epoch FROM now())::float8 AS hidden FROM messages m
)
SELECT 'message:' || t.queue_name || '/' || (t.m ->> 'id') AS id, least(t.at, extract(epoch FROM now())::float8) AS since,
       jsonb_build_object('queue', t.queue_name, 'reads', (t.m ->> 'read')::int,
         'step', coalesce(t.m ->> 'step', '?'), 'task', coalesce(t.m ->> 'task', '?'),
         'sent', coalesce(date_trunc('second', to_timestamp(nullif(t.at, 'infinity')))::text, 'never'),
         'wait', CASE WHEN t.hidden < 1e10 THEN date_trunc('second', make_interval(secs => greatest(t.hidden, 0)))::text ELSE 'ever' END,
         'why', CASE WHEN t.hidden > ($2::jsonb ->> 'hidden')::float8 THEN 'hides it' ELSE 'has a sending time ahead of the clock' END) AS evidence
  FROM timed t
 WHERE (t.hidden > ($2::jsonb ->> 'hidden')::float8 OR t.at > extract(epoch FROM now()) + ($2::jsonb ->> 'ahead')::float8)
   AND ($1::text[] IS NULL OR 'message:' || t.queue_name || '/' || (t.m ->> 'id') = ANY ($1::text[]))
 ORDER BY t.at, 1
 LIMIT $3::int
