-- The job that has the dedupe key of the job j while it waits or runs, or that comes before it in this action.
SELECT o.id
  FROM ((SELECT t.id FROM :"schema".:"pgqueuer" t
          WHERE t.status IN ('queued', 'picked') AND t.dedupe_key IS NOT NULL AND t.dedupe_key = j.dedupe_key AND t.id <> j.id LIMIT 1)
        UNION ALL
        (WITH firsts AS MATERIALIZED ( -- read once, not for each job
           SELECT a.dedupe_key, min(a.id) AS id FROM :"schema".:"pgqueuer" a WHERE a.id = ANY (:job_keys) GROUP BY a.dedupe_key
         )
         SELECT f.id FROM firsts f WHERE f.dedupe_key = j.dedupe_key AND f.id < j.id)) AS o
 LIMIT 1
