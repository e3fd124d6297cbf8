-- Find templates whose tasks were requested at regular intervals and are not any more. The interval is the median of those
-- between the newest tasks. The longest interval seen is allowed, so pauses of the schedule itself are no finding. Most of
-- the tasks have run.
-- Index: tasks_pkey backwards, at most 2,000 tasks.
WITH recent AS MATERIALIZED (
  SELECT t.named_task_uuid, t.created_at, t.complete FROM :"schema".tasks t ORDER BY t.task_uuid DESC LIMIT 2000
),
gaps AS MATERIALIZED (
  SELECT r.named_task_uuid, r.created_at, r.complete,
         extract(epoch FROM r.created_at - lag(r.created_at) OVER (PARTITION BY r.named_task_uuid ORDER BY r.created_at))::float8 AS gap
    FROM recent r WHERE isfinite(r.created_at)
),
periods AS MATERIALIZED (
  SELECT g.named_task_uuid, count(g.gap) AS n, max(g.created_at) AS last, max(g.gap) AS longest,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY g.gap) AS period
    FROM gaps g GROUP BY g.named_task_uuid HAVING count(g.gap) >= 6 AND count(*) FILTER (WHERE g.complete) * 2 > count(*)
),
regular AS (
  SELECT p.named_task_uuid
    FROM periods p JOIN gaps g ON g.named_task_uuid = p.named_task_uuid
   GROUP BY p.named_task_uuid
  HAVING count(*) FILTER (WHERE abs(g.gap - p.period) <= 0.2 * p.period) >= 0.8 * count(g.gap)
)
(SELECT 'template:' || p.named_task_uuid AS id, extract(epoch FROM p.last)::float8 AS since,
        jsonb_build_object('template', n.name, 'period', date_trunc('second', make_interval(secs => round(p.period)))::text, 'seen', p.n + 1,
          'last', date_trunc('second', p.last)::text, 'silent', date_trunc('second', now() - p.last)::text) AS evidence
   FROM periods p
   JOIN :"schema".named_tasks n ON n.named_task_uuid = p.named_task_uuid
  WHERE p.named_task_uuid IN (SELECT r.named_task_uuid FROM regular r)
    AND extract(epoch FROM now() - p.last) > greatest(2 * p.period + 60, 1.2 * p.longest, (:settings ->> 'quiet_least')::float8)
    AND (:ids IS NULL OR 'template:' || p.named_task_uuid = ANY (:ids))
\ir ../parts/page.sql
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM recent) = 2000
