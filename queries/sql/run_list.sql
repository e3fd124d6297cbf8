-- Runs, newest first, each with what was recorded last. Of the unfinished ones, those among the newest 1,000. The number of
-- changed nodes is that of the last event of a run that has ended; of others, the results are counted.
-- schema: only those of this schema; NULL: of all
-- args: kind: only those of this kind, or null; open: only those that have not ended
-- Index: audit_log_run_idx.
WITH begun AS MATERIALIZED (
  SELECT l.* FROM unstick.audit_log l
   WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' IS NULL
     AND (:args ->> 'kind' IS NULL OR l.arguments #>> '{run,kind}' = :args ->> 'kind')
   ORDER BY l.id DESC
   LIMIT CASE WHEN (:args ->> 'open')::boolean THEN 1000 ELSE :limit END
)
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host,
       l.engine, l.schema, l.action, l.reason, l.arguments::text AS arguments, e.ended::text AS ended, extract(epoch FROM coalesce(e.at, l.at))::float8 AS last_at,
       CASE WHEN jsonb_typeof(e.ended -> 'changed') = 'number' THEN least(greatest((e.ended ->> 'changed')::numeric, 0), 1e15)::int8
            ELSE (SELECT coalesce(sum(jsonb_array_length(jsonb_path_query_array(o.results, '$[*] ? (@.outcome == "changed")'))), 0)::int8
                    FROM unstick.audit_log o WHERE o.arguments ? 'run' AND o.arguments #>> '{run,id}' = l.id::text) END AS changed
  FROM begun l
  LEFT JOIN LATERAL (
       SELECT o.at, CASE WHEN o.arguments #>> '{run,event}' = 'end' THEN o.arguments -> 'run' END AS ended
         FROM unstick.audit_log o WHERE o.arguments ? 'run' AND o.arguments #>> '{run,id}' = l.id::text
        ORDER BY o.id DESC LIMIT 1) AS e ON true
 WHERE (:schema IS NULL OR l.schema = :schema) AND (e.ended IS NULL OR NOT (:args ->> 'open')::boolean)
 ORDER BY l.id DESC
 LIMIT :limit
