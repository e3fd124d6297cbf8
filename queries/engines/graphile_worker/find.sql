-- Jobs by id or key, tasks and crontab entries by identifier, queues by name.
-- query: a number, or a text
-- Indexes: jobs_pkey1, jobs_key_key1, tasks_identifier_key, job_queues_queue_name_key, known_crontabs_pkey.
SELECT f.id, f.matched
  FROM (SELECT 'job:' || j.id AS id, 'id' AS matched, 1 AS place FROM :"schema"._private_jobs j
         WHERE j.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END
        UNION ALL
        SELECT 'job:' || j.id, 'reference', 2 FROM :"schema"._private_jobs j WHERE j.key = :query
        UNION ALL
        SELECT 'task:' || k.id, 'reference', 3 FROM :"schema"._private_tasks k WHERE k.identifier = :query
        UNION ALL
        SELECT 'queue:' || q.id, 'reference', 4 FROM :"schema"._private_job_queues q WHERE q.queue_name = :query
        UNION ALL
        SELECT 'crontab:' || c.identifier, 'id', 5 FROM :"schema"._private_known_crontabs c WHERE c.identifier = :query) AS f
 ORDER BY f.place
 LIMIT :limit
