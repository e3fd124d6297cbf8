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
   LIMIT CASE WHEN (:args ->> 'open')::boolean THEN 1000 ELSE :page END
)
SELECT b.id::text AS id, extract(epoch FROM b.at)::float8 AS at, b.role, b.os_user, b.host, b.engine, b.schema, b.reason,
       b.arguments ->> 'run' AS run, e.ended::text AS ended, extract(epoch FROM coalesce(e.at, b.at))::float8 AS last_at,
       CASE WHEN jsonb_typeof(e.ended -> 'changed') = 'number' THEN least(greatest((e.ended ->> 'changed')::numeric, 0), 1e15)::int8
            ELSE (SELECT coalesce(sum(jsonb_array_length(jsonb_path_query_array(l.results, '$[*] ? (@.outcome == "changed")'))), 0)::int8
                    FROM unstick.audit_log l WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' = b.id::text) END AS changed
  FROM begun b
  LEFT JOIN LATERAL (
       SELECT l.at, CASE WHEN l.arguments #>> '{run,event}' = 'end' THEN l.arguments -> 'run' END AS ended
         FROM unstick.audit_log l WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' = b.id::text
        ORDER BY l.id DESC LIMIT 1) AS e ON true
 WHERE (:schema IS NULL OR b.schema = :schema) AND (e.ended IS NULL OR NOT (:args ->> 'open')::boolean)
 ORDER BY b.id DESC
 LIMIT :page
