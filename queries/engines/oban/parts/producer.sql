-- The newest sign of life of the producer that took a job: its own, or that of another one of its node that has run since before it
-- took the job. The table is unlogged: after a crash of the server its rows come back within seconds.
          LEFT JOIN LATERAL (SELECT o.uuid, o.node, o.updated_at FROM :"schema".oban_producers o
                              WHERE o.uuid::text = j.attempted_by[2] OR o.node = j.attempted_by[1] AND o.started_at <= j.attempted_at
                              ORDER BY o.updated_at DESC LIMIT 1) AS p ON true
