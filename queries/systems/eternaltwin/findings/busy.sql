-- Available tasks with very many polls behind them.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Index: task__available_polled_at__idx; looks at the 5,000 polled last.
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.created_at)::float8 AS since,
        jsonb_build_object('revision', t.revision, 'age', CASE WHEN isfinite(t.created_at) THEN date_trunc('second', now() - t.created_at)::text ELSE 'ever' END, 'kind', t.kind) AS evidence
   FROM (SELECT * FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC LIMIT 5000) AS t
  WHERE t.revision > coalesce($2::jsonb -> t.kind ->> 'busy_polls', $2::jsonb ->> 'busy_polls')::float8
    AND ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
  ORDER BY t.revision DESC, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC OFFSET 5000)
