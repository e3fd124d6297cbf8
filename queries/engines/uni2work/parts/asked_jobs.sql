-- The jobs of the given ids.
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))
