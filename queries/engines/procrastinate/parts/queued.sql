-- The job `q` that already waits with the queueing lock of the job j, or that comes before it in this action. Only one may wait.
          LEFT JOIN LATERAL (
            SELECT o.id
              FROM ((SELECT t.id FROM :"schema".procrastinate_jobs t WHERE t.status = 'todo' AND t.queueing_lock = j.queueing_lock AND t.id <> j.id LIMIT 1)
                    UNION ALL
                    (WITH firsts AS MATERIALIZED ( -- read once, not for each job
                       SELECT a.queueing_lock, min(a.id) AS id FROM :"schema".procrastinate_jobs a WHERE a.id = ANY (:job_keys) GROUP BY a.queueing_lock
                     )
                     SELECT f.id FROM firsts f WHERE f.queueing_lock = j.queueing_lock AND f.id < j.id)) AS o
             LIMIT 1
          ) AS q ON true
