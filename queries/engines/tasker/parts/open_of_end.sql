-- End of parts/open_of.sql, and the columns of a node `n` that has these tasks.
    LEFT JOIN LATERAL (SELECT x.to_state FROM :"schema".task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x ON true
   WHERE (SELECT count(*) FROM open) <= 2000
   GROUP BY :of.:key
)
SELECT CASE WHEN (SELECT count(*) FROM open) > 2000 THEN 'unknown' WHEN s.failed THEN 'failed' WHEN s.blocked THEN 'blocked'
            WHEN s.running THEN 'running' WHEN s.ready THEN 'ready' WHEN s.scheduled THEN 'scheduled' ELSE 'done' END AS phase,
       extract(epoch FROM n.created_at)::float8 AS created_at, extract(epoch FROM n.updated_at)::float8 AS changed_at,
       n.xmin::text AS version, extract(epoch FROM now())::float8 AS now,
