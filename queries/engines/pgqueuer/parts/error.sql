-- The exception of the job j in the newest of its log entries, if that has one.
SELECT max((l.traceback ->> 'exception_type') || ': ' || (l.traceback ->> 'exception_message')) AS error
  FROM (SELECT x.traceback FROM :"schema".:"pgqueuer_log" x
         WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id, x.created DESC LIMIT 1) AS l
