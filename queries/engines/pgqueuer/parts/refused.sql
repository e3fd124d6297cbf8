-- End of the refusals that parts/refusals.sql begins.
          FROM :"schema".:"pgqueuer" j
         WHERE j.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL
