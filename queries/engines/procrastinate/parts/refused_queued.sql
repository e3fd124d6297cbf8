-- End of the refusals that parts/refusals.sql begins, for an action after which the job j waits.
                    WHEN q.id IS NOT NULL THEN 'the job ' || q.id || ' has the same queueing lock, and only one may wait' END AS why
          FROM :"schema".procrastinate_jobs j
\ir queued.sql
\ir refused.sql
