-- The cron entries of the given ids.
  FROM :"schema".cron_last_exec c
 WHERE c.id = ANY (:cron_keys)
