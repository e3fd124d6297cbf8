-- Move a message from its queue to the queue's archive, so that no worker or orchestrator reads it again. pgmq's own
-- function archives it, even if another client reads it at the same moment.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- Indexes: the primary keys of pgmq's tables.

-- :lock
WITH
\ir ../parts/messages_asked.sql
SELECT 'message:' || r.queue_name || '/' || (r.m ->> 'id') AS id, r.m ->> 'version' AS version FROM read r

-- :rows
WITH
\ir ../parts/messages_asked.sql
SELECT 'message:' || r.queue_name || '/' || (r.m ->> 'id') AS id, 'pgmq.' || lower('q_' || r.queue_name) AS "table", r.m ->> 'id' AS key, r.m - 'read' - 'version' AS row FROM read r

-- :change
WITH
\ir ../parts/messages_asked.sql
SELECT a.id
  FROM (SELECT v.id, pgmq.archive(r.queue_name::text, (r.m ->> 'id')::int8) AS done
          FROM unnest($1::text[], $2::text[]) AS v(id, version)
          JOIN read r ON v.id = 'message:' || r.queue_name || '/' || (r.m ->> 'id') AND r.m ->> 'version' = v.version
        OFFSET 0) AS a
 WHERE a.done
