-- The job that has the dedupe key of the job j while it waits or runs, or that comes before it in this action.
SELECT o.id
  FROM ((SELECT t.id FROM :"schema".:"pgqueuer" t
          WHERE t.status IN ('queued', 'picked') AND t.dedupe_key IS NOT NULL AND t.dedupe_key = j.dedupe_key AND t.id <> j.id LIMIT 1)
        UNION ALL
        (SELECT t.id FROM :"schema".:"pgqueuer" t
          WHERE t.id = ANY (:job_keys)
            AND t.dedupe_key = j.dedupe_key AND t.id < j.id ORDER BY t.id LIMIT 1)) AS o
 LIMIT 1
