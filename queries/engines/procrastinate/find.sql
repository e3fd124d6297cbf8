-- Jobs by id, by the lock that they hold, or by their queueing lock; queues by name.
-- query: a number, or a text
-- Indexes: procrastinate_jobs_pkey, procrastinate_jobs_lock_idx_v1, procrastinate_jobs_queueing_lock_idx_v1,
-- procrastinate_workers_pkey; procrastinate_jobs_queue_name_idx_v1, in whose order the next name is read: for the first
-- row of a name PostgreSQL may scan the table, because it expects few other rows before it.
SELECT f.id, f.matched
  FROM ((SELECT 'job:' || j.id AS id, 'id' AS matched, 1 AS place FROM :"schema".procrastinate_jobs j
          WHERE j.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END)
        UNION ALL
        (SELECT 'worker:' || w.id, 'id', 2 FROM :"schema".procrastinate_workers w
          WHERE w.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END)
        UNION ALL
        SELECT 'queue:' || q.queue_name, 'id', 3
          FROM (SELECT j.queue_name FROM :"schema".procrastinate_jobs j WHERE j.queue_name >= :query ORDER BY j.queue_name LIMIT 1) AS q
         WHERE q.queue_name = :query
        UNION ALL
        (SELECT 'job:' || j.id, 'reference', 4 FROM :"schema".procrastinate_jobs j WHERE j.status = 'doing' AND j.lock = :query LIMIT 1)
        UNION ALL
        (SELECT 'job:' || j.id, 'reference', 5 FROM :"schema".procrastinate_jobs j WHERE j.status = 'todo' AND j.queueing_lock = :query LIMIT 1)) AS f
 ORDER BY f.place
 LIMIT :limit
