-- Find messages that their queue hides far longer than the visibility time, or whose time of sending is ahead of the
-- server's clock, so that their age looks harmless.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue).
WITH
\ir ../parts/all_messages.sql
, timed AS (
  SELECT m.queue_name, m.m, (m.m ->> 'at')::float8 AS at, (m.m ->> 'vt')::float8 - extract(epoch FROM now())::float8 AS hidden FROM messages m
)
(SELECT 'message:' || t.queue_name || '/' || (t.m ->> 'id') AS id, least(t.at, extract(epoch FROM now())::float8) AS since,
       jsonb_build_object('queue', t.queue_name, 'reads', (t.m ->> 'read')::int,
         'step', coalesce(t.m ->> 'step', '?'), 'task', coalesce(t.m ->> 'task', '?'),
         'sent', coalesce(date_trunc('second', to_timestamp(nullif(t.at, 'infinity')))::text, 'never'),
         'wait', CASE WHEN t.hidden < 1e10 THEN date_trunc('second', make_interval(secs => greatest(t.hidden, 0)))::text ELSE 'ever' END,
         'why', CASE WHEN t.hidden > (:settings ->> 'hidden')::float8 THEN 'hides it' ELSE 'has a sending time ahead of the clock' END) AS evidence
  FROM timed t
 WHERE (t.hidden > (:settings ->> 'hidden')::float8 OR t.at > extract(epoch FROM now()) + (:settings ->> 'ahead')::float8)
   AND (:ids IS NULL OR 'message:' || t.queue_name || '/' || (t.m ->> 'id') = ANY (:ids))
 ORDER BY t.at, 1
 LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL
 WHERE :ids IS NULL AND (SELECT max(c.n) FROM (SELECT count(*) AS n FROM messages m GROUP BY m.queue_name) AS c) = 2000
