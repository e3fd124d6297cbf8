       (SELECT h.id
          FROM (SELECT o.id FROM :"schema".solid_queue_jobs o
                 WHERE o.concurrency_key = b.concurrency_key AND o.finished_at IS NULL ORDER BY o.id LIMIT 1000) AS h
         WHERE coalesce((SELECT t.job_id FROM :"schema".solid_queue_claimed_executions t WHERE t.job_id = h.id),
                        (SELECT t.job_id FROM :"schema".solid_queue_ready_executions t WHERE t.job_id = h.id)) IS NOT NULL
         LIMIT 1)
