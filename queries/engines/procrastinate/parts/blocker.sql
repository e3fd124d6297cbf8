-- The job that keeps the job j from its lock: the one that runs, else the first one to do.
SELECT o.id
  FROM ((SELECT d.id, 1 AS place FROM :"schema".procrastinate_jobs d WHERE d.status = 'doing' AND d.lock = j.lock LIMIT 1)
        UNION ALL
        SELECT (l.first ->> j.lock)::int8, 2 FROM locks l WHERE l.first ? j.lock
        UNION ALL
        (SELECT t.id, 2 FROM :"schema".procrastinate_jobs t
          WHERE 'todo_by_lock' = ANY (:met_needs) AND NOT 'jobs_scan' = ANY (:met_needs) AND t.status = 'todo' AND t.lock = j.lock ORDER BY t.priority DESC, t.id LIMIT 1)) AS o
 WHERE o.id <> j.id
 ORDER BY o.place
 LIMIT 1
