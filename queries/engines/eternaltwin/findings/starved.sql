-- Tasks that are Available for a long time and were never polled. The partial index sorts such rows last.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Index: task__available_polled_at__idx backwards, at most 5,000 rows.
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.created_at)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', t.created_at)::text, 'kind', t.kind, 'kind_version', t.kind_version) AS evidence
   FROM (SELECT * FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at DESC LIMIT 5000) AS t
  WHERE (t.polled_at).time IS NULL
    AND t.created_at < now() - make_interval(secs => coalesce($2::jsonb -> t.kind ->> 'starved', $2::jsonb ->> 'starved')::float8)
    AND ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
  ORDER BY t.created_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at DESC OFFSET 5000 LIMIT 1) AS o WHERE (o.polled_at).time IS NULL)
