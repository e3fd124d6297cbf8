-- The last entry that names the process that continues a run.
-- id: the run, which is the id of its first entry
-- Indexes: audit_log_pkey, audit_log_run_idx.
SELECT concat(l.os_user, '@', l.host, ' (role ', l.role, ')') AS who, l.arguments #>> '{run,process}' AS process,
       coalesce(l.arguments #>> '{run,event}' = 'end', false) AS ended
  FROM unstick.audit_log l
 WHERE l.id = (SELECT coalesce((SELECT o.id FROM unstick.audit_log o
                                 WHERE o.arguments ? 'run' AND o.arguments #>> '{run,id}' = :id
                                 ORDER BY o.id DESC LIMIT 1), :id::text::bigint))
   AND l.arguments ? 'run'
