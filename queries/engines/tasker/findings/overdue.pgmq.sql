-- Find steps that wait far longer for a worker or an orchestrator than steps of their name usually do, if their queue tells
-- nothing: it cannot be read, or it is too long to read. Other findings are about messages that are lost, unread or hidden.
-- kinds: step
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included parts.
WITH
\ir ../parts/old_steps.sql
, queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q WHERE $2::jsonb ->> 'queue' = 'pgmq' AND q.queue_name IN (SELECT o.queue FROM old o)
),
\ir ../parts/messages.sql
, sizes AS MATERIALIZED (
  SELECT m.queue_name, count(*) AS n,
         bool_or((m.m ->> 'due')::bool AND (m.m ->> CASE WHEN (m.m ->> 'read')::int = 0 THEN 'at' ELSE 'vt' END)::float8
                                           < extract(epoch FROM now()) - ($2::jsonb ->> 'no_worker')::float8) AS late
    FROM messages m GROUP BY m.queue_name
),
unexplained AS MATERIALIZED (
  SELECT o.*, CASE WHEN $2::jsonb ->> 'queue' <> 'pgmq' THEN 'The engine''s messages are not in this database, so the cause is unknown'
                   WHEN u.queue_name IS NOT NULL THEN 'Its queue cannot be read, so the cause is unknown'
                   ELSE 'Only the first 2,000 messages of its queue are read, so the cause is unknown' END AS why
    FROM old o
    LEFT JOIN sizes z ON z.queue_name = o.queue
    LEFT JOIN unread_queues u ON u.queue_name = o.queue
   WHERE $2::jsonb ->> 'queue' <> 'pgmq' OR u.queue_name IS NOT NULL OR z.n = 2000 AND NOT z.late
),
\ir ../parts/overdue.sql
