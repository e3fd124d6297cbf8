-- Jobs by id or by the id that Active Job gave them; processes by id; queues and recurring tasks by name.
-- query: an id or a name
-- Indexes: the primary keys; the unique ones on names; one on solid_queue_jobs(active_job_id), else it is not searched;
-- one on solid_queue_jobs(queue_name), in whose order the next name is read: for the first row of a name PostgreSQL may
-- scan the table, because it expects few other rows before it.
SELECT n.id AS id, n.matched AS matched
  FROM (SELECT 'job:' || j.id AS id, 'id' AS matched FROM :"schema".solid_queue_jobs j
         WHERE j.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END
        UNION ALL
        SELECT 'process:' || p.id, 'id' FROM :"schema".solid_queue_processes p
         WHERE p.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END
        UNION ALL
        SELECT 'recurring:' || t.key, 'id' FROM :"schema".solid_queue_recurring_tasks t WHERE t.key = :query
        UNION ALL
        SELECT 'queue:' || q.queue_name, 'id'
          FROM (SELECT j.queue_name FROM :"schema".solid_queue_jobs j WHERE j.queue_name >= :query ORDER BY j.queue_name LIMIT 1) AS q
         WHERE q.queue_name = :query
        UNION ALL
        SELECT 'job:' || j.id, 'reference' FROM :"schema".solid_queue_jobs j
         WHERE 'active_job' = ANY (:met_needs) AND j.active_job_id = :query) AS n
 LIMIT :limit
