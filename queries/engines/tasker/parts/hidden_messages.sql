-- Messages with the seconds for which their queue hides them. A time of sending that is ahead of the server's clock makes the age
-- of a message look harmless.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue).
\ir all_messages.sql
, nodes AS (
  SELECT 'message:' || m.queue_name || '/' || (m.m ->> 'id') AS id, m.queue_name, m.m, to_timestamp((m.m ->> 'at')::float8) AS at,
         (m.m ->> 'vt')::float8 - extract(epoch FROM now())::float8 AS hidden
    FROM messages m
)
