-- Signs of life or death of the workers that claimed the requested steps. The engine records the worker of a claim and of a
-- result, but no heartbeat. Ids of transitions are in order of time, so the newest 5,000 tell what each worker did last.
-- $6 settings jsonb
-- Indexes: workflow_steps_pkey, the unique index on current transitions, workflow_step_transitions_pkey backwards,
-- idx_workflow_steps_named_step (at most 200 runs of the same step).
asked AS MATERIALIZED (
  SELECT i AS id, s.named_step_uuid, s.updated_at, x.created_at AS claimed, x.metadata ->> 'worker_uuid' AS worker
    FROM unnest($1::text[]) AS i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
   WHERE x.to_state = 'in_progress'
),
recent AS MATERIALIZED (
  SELECT x.created_at, x.metadata ->> 'worker_uuid' AS worker
    FROM :"schema".workflow_step_transitions x
   ORDER BY x.workflow_step_transition_uuid DESC
   LIMIT 5000
),
reach AS (SELECT CASE WHEN count(*) < 5000 THEN '-infinity'::timestamp ELSE min(r.created_at) END AS since FROM recent r),
moves AS MATERIALIZED (
  SELECT r.worker, max(r.created_at) AS at, row_number() OVER (ORDER BY max(r.created_at) DESC) AS place
    FROM recent r WHERE r.worker IS NOT NULL GROUP BY r.worker
),
usual AS MATERIALIZED (
  SELECT k.named_step_uuid, u.p95, u.n
    FROM (SELECT DISTINCT named_step_uuid FROM asked) AS k
   CROSS JOIN LATERAL (
    SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY r.ms) / 1000 AS p95, count(r.ms) AS n
      FROM (SELECT CASE WHEN jsonb_typeof(s.results #> '{metadata,execution_time_ms}') = 'number'
                        THEN (s.results #>> '{metadata,execution_time_ms}')::float8 END AS ms
              FROM (SELECT s.results, s.processed FROM :"schema".workflow_steps s
                     WHERE s.named_step_uuid BETWEEN k.named_step_uuid AND k.named_step_uuid
                     ORDER BY s.named_step_uuid LIMIT 200) AS s
             WHERE s.processed) AS r) AS u
),
judged AS MATERIALIZED (
  SELECT a.id, a.worker, a.claimed, a.updated_at, localtimestamp - a.claimed AS age, m.at AS moved, o.at AS others, u.p95, u.n,
         greatest(a.claimed, coalesce(m.at, e.since)) AS silent_since,
         make_interval(secs => ($6::jsonb ->> 'orphaned')::float8) AS patience
    FROM asked a
   CROSS JOIN reach e
    LEFT JOIN usual u ON u.named_step_uuid = a.named_step_uuid
    LEFT JOIN moves m ON m.worker = a.worker
    LEFT JOIN LATERAL (SELECT max(p.at) AS at FROM moves p WHERE p.place <= 2 AND p.worker <> a.worker) AS o ON true
)
SELECT j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail,
       extract(epoch FROM j.claimed AT TIME ZONE current_setting('TimeZone'))::float8 AS since
  FROM judged j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat, lease or advisory lock'
   UNION ALL
   SELECT 'other work of the worker',
    CASE WHEN j.worker IS NULL THEN 'unknown'
         WHEN j.moved > j.claimed AND j.moved > localtimestamp - j.patience THEN 'alive'
         WHEN j.silent_since < localtimestamp - j.patience AND j.others > localtimestamp - j.patience THEN 'dead'
         ELSE 'unknown' END,
    CASE WHEN j.worker IS NULL THEN 'not recorded: the claim names no worker'
         WHEN j.moved > j.claimed THEN 'worker ' || j.worker || ' claimed or ended another step ' || date_trunc('second', localtimestamp - j.moved) || ' ago'
         ELSE 'none of worker ' || j.worker || ' since the claim'
              || coalesce('; another worker claimed or ended one ' || date_trunc('second', localtimestamp - j.others) || ' ago', '; none of other workers') END
   UNION ALL
   SELECT 'run time',
    CASE WHEN j.p95 IS NULL THEN 'unknown'
         WHEN j.age <= make_interval(secs => least(j.p95, 1e9)) THEN 'alive'
         WHEN j.age > greatest(j.patience, make_interval(secs => least(($6::jsonb ->> 'orphaned_factor')::float8 * j.p95, 1e9))) THEN 'dead'
         ELSE 'unknown' END,
    'claimed ' || date_trunc('second', j.age) || ' ago; '
      || coalesce('95 % of ' || j.n || ' runs of this step took at most ' || round(j.p95::numeric, 1) || ' s', 'no run of this step is recorded')
   UNION ALL
   SELECT 'last write',
    CASE WHEN j.updated_at <= j.claimed + interval '5 seconds' THEN 'unknown'
         WHEN j.updated_at > localtimestamp - j.patience THEN 'alive' ELSE 'dead' END,
    CASE WHEN j.updated_at <= j.claimed + interval '5 seconds' THEN 'none to the step since the claim; only a batch writes while it runs'
         ELSE 'the step was written ' || date_trunc('second', localtimestamp - j.updated_at) || ' ago, after the claim' END
 ) AS w(witness, verdict, detail)
