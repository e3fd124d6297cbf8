-- title: Tasks by kind
-- kinds: job
-- A job with more than 1,000 tasks has no sums. The tasks are counted first, with an index-only scan.
-- needs: task_by_job
WITH wanted AS MATERIALIZED (
  SELECT substr(:id, 5)::uuid AS job_id
),
size AS MATERIALIZED (
  SELECT (SELECT count(*) FROM (SELECT FROM :"schema".task t WHERE t.job_id = w.job_id LIMIT 1001) AS o) AS tasks FROM wanted w
)
(SELECT t.kind || ' v' || t.kind_version AS kind, t.status::text, count(*)::text AS tasks, sum(t.revision)::text AS polls,
        round(sum(extract(epoch FROM t.cpu_duration)), 3) || ' s' AS cpu, round(sum(extract(epoch FROM t.poll_duration)), 3) || ' s' AS poll
   FROM :"schema".task t
  WHERE t.job_id = substr(:id, 5)::uuid
    AND (SELECT s.tasks FROM size s) <= 1000
  GROUP BY 1, 2
  ORDER BY 1, 2
  LIMIT 100)
UNION ALL
SELECT 'too many to sum', NULL, '1,000+', NULL, NULL, NULL FROM size s WHERE s.tasks > 1000
