-- The job `q` that already waits with the queueing lock of the job j, or that comes before it in this action. Only one may wait.
          LEFT JOIN LATERAL (
            SELECT o.id
              FROM ((SELECT t.id FROM :"schema".procrastinate_jobs t WHERE t.status = 'todo' AND t.queueing_lock = j.queueing_lock AND t.id <> j.id LIMIT 1)
                    UNION ALL
                    (SELECT t.id FROM :"schema".procrastinate_jobs t
                      WHERE t.id = ANY (:job_keys)
                        AND t.queueing_lock = j.queueing_lock AND t.id < j.id ORDER BY t.id LIMIT 1)) AS o
             LIMIT 1
          ) AS q ON true
