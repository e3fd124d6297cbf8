-- End of the refusals of an action on jobs `j`: a job that a worker may still run.
                    WHEN NOT
\ir lost.sql
                      THEN 'it was locked ' || date_trunc('second', now() - j.locked_at) || ' ago, and its worker may still run it. ' || (SELECT s.text FROM sessions s) END AS why
          FROM :"schema"._private_jobs j
         WHERE j.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL
