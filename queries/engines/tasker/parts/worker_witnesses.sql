-- Signs of life or death of the workers that claimed the requested steps. The engine records the worker of a claim and of a
-- result, but no heartbeat. Ids of transitions are in order of time, so the newest 5,000 tell what each worker did last.
-- Indexes: workflow_steps_pkey, the unique index on current transitions, workflow_step_transitions_pkey backwards,
-- idx_workflow_steps_named_step (at most 200 runs of the same step).
asked AS MATERIALIZED (
  SELECT i AS id, s.named_step_uuid, s.updated_at, x.created_at AS began, x.metadata ->> 'worker_uuid' AS who
    FROM unnest(:ids) AS i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
   WHERE x.to_state = 'in_progress'
),
recent AS MATERIALIZED (
  SELECT x.created_at, x.metadata ->> 'worker_uuid' AS who
    FROM :"schema".workflow_step_transitions x
   ORDER BY x.workflow_step_transition_uuid DESC
   LIMIT 5000
),
\set steps asked
\ir usual_times.sql
,
\set patience orphaned
\set who worker
\ir other_work.sql
    CASE WHEN j.who IS NULL THEN 'not recorded: the claim names no worker'
         WHEN j.moved > j.began THEN 'worker ' || j.who || ' claimed or ended another step ' || date_trunc('second', localtimestamp - j.moved) || ' ago'
         ELSE 'none of worker ' || j.who || ' since the claim'
              || coalesce('; another worker claimed or ended one ' || date_trunc('second', localtimestamp - j.others) || ' ago', '; none of other workers') END
   UNION ALL
   SELECT 'run time',
    CASE WHEN u.p95 IS NULL THEN 'unknown'
         WHEN j.age <= make_interval(secs => least(u.p95, 1e9)) THEN 'alive'
         WHEN j.age > greatest(j.patience, make_interval(secs => least(:orphaned_factor * u.p95, 1e9))) THEN 'dead'
         ELSE 'unknown' END,
    'claimed ' || coalesce(date_trunc('second', j.age) || ' ago', 'at ' || j.began) || '; '
      || coalesce('95 % of ' || u.n || ' runs of this step took at most ' || round(u.p95::numeric, 1) || ' s', 'no run of this step is recorded')
     FROM (SELECT) AS always LEFT JOIN usual u ON u.named_step_uuid = j.named_step_uuid
   UNION ALL
   SELECT 'last write',
    CASE WHEN j.updated_at <= j.began + interval '5 seconds' THEN 'unknown'
         WHEN j.updated_at > localtimestamp - j.patience THEN 'alive' ELSE 'dead' END,
    CASE WHEN j.updated_at <= j.began + interval '5 seconds' THEN 'none to the step since the claim; only a batch writes while it runs'
         ELSE 'the step was written ' || date_trunc('second', localtimestamp - j.updated_at) || ' ago, after the claim' END
 ) AS w(witness, verdict, detail)
