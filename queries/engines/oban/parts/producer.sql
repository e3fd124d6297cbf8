-- The producer that took a job. The table is unlogged: after a crash of the server its rows come back within seconds.
          LEFT JOIN :"schema".oban_producers p ON p.uuid::text = j.attempted_by[2]
