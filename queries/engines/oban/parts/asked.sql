          FROM :"schema".oban_jobs j
         WHERE j.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL
