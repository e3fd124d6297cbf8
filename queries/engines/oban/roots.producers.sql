-- Producers, and queues that have jobs.
-- needs: producers
-- cursor: rank|key of the last row of the previous page, or NULL
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan of each state.
WITH RECURSIVE
\ir parts/queues.sql
(SELECT n.id, n.cursor
  FROM ((SELECT 1 AS rank, 'producer:' || p.uuid AS id, '1|' || p.uuid AS cursor, p.uuid::text AS key
           FROM :"schema".oban_producers p
          WHERE :cursor IS NULL OR '1|' || p.uuid > :cursor COLLATE "C"
          ORDER BY p.uuid LIMIT :limit)
        UNION ALL
        (SELECT 2, 'queue:' || q.name, '2|' || q.name, q.name FROM queues q WHERE q.name IS NOT NULL LIMIT :limit)) AS n
 ORDER BY n.rank, n.key
 LIMIT :limit)
UNION ALL
SELECT NULL, 'unfinished jobs'
