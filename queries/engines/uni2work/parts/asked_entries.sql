-- The cron entries of the given ids.
  FROM :"schema".cron_last_exec c
 WHERE c.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i))
