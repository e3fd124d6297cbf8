-- The first page of the jobs of `late` (late.sql), with the `pair` of jobs that share a unique key, which the including file has. A
-- row without an id: there may be more.
late_rows AS (
  (SELECT 'job:' || j.id AS id, extract(epoch FROM j.scheduled_at)::float8 AS since,
          jsonb_build_object('queue', j.queue, 'state', j.state, 'due', date_trunc('second', j.scheduled_at)::text,
            'age', date_trunc('second', timezone('UTC', now()) - j.scheduled_at)::text,
            'why', coalesce((SELECT format('The jobs %s and %s have the same unique key: if it forbids that both are available, the stager fails at them and stages no other', p.one, p.other) FROM pair p),
                            'The stager does not run, or fails: one job that it cannot change stops all of them')) AS evidence
     FROM late j
    WHERE j.id IS NOT NULL
    ORDER BY j.scheduled_at, j.id
    LIMIT :limit)
  UNION ALL
  SELECT NULL, NULL, NULL FROM late j WHERE j.id IS NULL
)
