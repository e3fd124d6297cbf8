-- Move a message from its queue to the queue's archive, so that no worker or orchestrator reads it again. pgmq's own
-- function archives it, even if another client reads it at the same moment.
-- Indexes: the primary keys of pgmq's tables.

-- :lock
-- The table of a queue has no name that a statement can lock rows of, so an advisory lock keeps other consoles from the message.
WITH \ir ../parts/requested_messages.sql
SELECT r.id, r.m ->> 'version' AS version
  FROM requested_messages r
 WHERE pg_try_advisory_xact_lock(hashtext('pgmq'), hashtext(r.queue || '/' || (r.m ->> 'id')))

-- :change
WITH \ir ../parts/requested_messages.sql
SELECT a.id
  FROM (SELECT v.id, pgmq.archive(r.queue, (r.m ->> 'id')::int8) AS done
          FROM unnest(:ids, :versions) AS v(id, version)
          JOIN requested_messages r ON r.id = v.id AND r.m ->> 'version' = v.version
        OFFSET 0) AS a
 WHERE a.done
