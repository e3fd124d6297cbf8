-- Queues that have jobs. The row without an id says what was searched.
-- cursor: 2| and the name of the last queue of the previous page, or NULL
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan of each state.
WITH RECURSIVE
\ir parts/queues.sql
(SELECT 'queue:' || q.name AS id, '2|' || q.name AS cursor FROM queues q WHERE q.name IS NOT NULL LIMIT :limit)
UNION ALL
SELECT NULL, 'unfinished jobs'
