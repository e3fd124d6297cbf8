-- Number of workers that beat, as a sentence. A worker without a job does not beat, so each session of another program may be one.
alive AS MATERIALIZED (
  SELECT CASE count(DISTINCT o.queue_manager_id) WHEN 0 THEN 'No worker runs a job. '
                || CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_stat_activity a
                                      WHERE a.datname = current_database() AND coalesce(a.backend_type, 'client backend') = 'client backend'
                                        AND a.application_name IS DISTINCT FROM current_setting('application_name'))
                        THEN 'One without a job does not beat: sessions of other programs are connected, and may be workers' ELSE 'No other program is connected to this database' END
              WHEN 1 THEN 'One worker runs other jobs' ELSE 'Workers that run other jobs: ' || CASE count(*) WHEN 1000 THEN 'at least ' ELSE '' END || count(DISTINCT o.queue_manager_id) END AS text
    FROM (SELECT j.queue_manager_id FROM :"schema".:"pgqueuer" j
           WHERE j.status = 'picked' AND j.heartbeat >= now() - :heartbeat_timeout
           ORDER BY j.heartbeat LIMIT 1000) AS o
)
