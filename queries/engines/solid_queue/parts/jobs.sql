  FROM :"schema".solid_queue_jobs j
  LEFT JOIN :"schema".solid_queue_ready_executions r ON r.job_id = j.id
  LEFT JOIN :"schema".solid_queue_claimed_executions c ON c.job_id = j.id
  LEFT JOIN :"schema".solid_queue_failed_executions f ON f.job_id = j.id
  LEFT JOIN :"schema".solid_queue_blocked_executions b ON b.job_id = j.id
  LEFT JOIN :"schema".solid_queue_scheduled_executions s ON s.job_id = j.id
  LEFT JOIN :"schema".solid_queue_processes p ON p.id = c.process_id
 WHERE j.id = ANY (:job_keys)
