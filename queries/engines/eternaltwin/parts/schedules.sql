-- Kinds of root tasks whose jobs were created at regular intervals and now are not. The period is the median of the
-- last gaps. It counts as regular if at least eight gaps are between half and one and a half of it. Reported at the
-- kind's last job.
-- needs: job_by_created, task_by_job
-- Indexes: one on job(created_at), the newest 1,000 jobs; one on task(job_id), once for each job. If created_at follows
-- job_id in that index, one row of each job is read, else the whole job.
newest AS MATERIALIZED (
  SELECT job_id, created_at FROM :"schema".job WHERE created_at <= now() ORDER BY created_at DESC LIMIT 1000
),
roots AS MATERIALIZED (
  (SELECT DISTINCT ON (o.job_id) n.job_id, n.created_at, o.kind
     FROM newest n JOIN :"schema".task o ON o.job_id = n.job_id
    WHERE 'task_scan' = ANY (:met_needs)
    ORDER BY o.job_id, o.created_at, o.task_id)
  UNION ALL
  SELECT n.job_id, n.created_at, r.kind
    FROM newest n
   CROSS JOIN LATERAL (SELECT o.kind FROM :"schema".task o WHERE o.job_id = n.job_id ORDER BY o.created_at, o.task_id LIMIT 1) AS r
   WHERE NOT 'task_scan' = ANY (:met_needs)
),
gaps AS (
  SELECT r.kind, r.job_id, r.created_at, r.created_at - lag(r.created_at) OVER (PARTITION BY r.kind ORDER BY r.created_at, r.job_id) AS gap,
         row_number() OVER (PARTITION BY r.kind ORDER BY r.created_at DESC, r.job_id DESC) AS place
    FROM roots r
   WHERE isfinite(r.created_at)
),
nodes AS (
  SELECT 'job:' || (array_agg(g.job_id) FILTER (WHERE g.place = 1))[1] AS id, g.kind, max(g.created_at) AS last, count(g.gap) AS gaps,
         min(g.gap) AS least, max(g.gap) AS most, percentile_disc(0.5) WITHIN GROUP (ORDER BY g.gap) AS period
    FROM gaps g
   WHERE g.place <= 12
   GROUP BY g.kind
)
