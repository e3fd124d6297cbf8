-- title: Tasks by kind
-- kinds: job
-- $1 id text: local id
-- needs: task_by_job
SELECT t.kind || ' v' || t.kind_version AS kind, t.status::text, count(*)::text AS tasks, sum(t.revision)::text AS polls,
       round(sum(extract(epoch FROM t.cpu_duration)), 3) || ' s' AS cpu, round(sum(extract(epoch FROM t.poll_duration)), 3) || ' s' AS poll
  FROM task t
 WHERE t.job_id = substr($1::text, 5)::uuid
 GROUP BY 1, 2
 ORDER BY 1, 2
 LIMIT 100
