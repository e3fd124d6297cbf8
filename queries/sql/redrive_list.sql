-- Redrives, newest first, each with what was recorded last. Of the unfinished ones, those among the newest 1,000.
-- schema: only those of this schema that have not ended; NULL: all
-- Index: audit_log_redrive_idx.
WITH begun AS MATERIALIZED (
  SELECT l.* FROM unstick.audit_log l
   WHERE l.arguments ? 'redrive' AND l.arguments #>> '{redrive,run}' IS NULL
   ORDER BY l.id DESC
   LIMIT CASE WHEN :schema IS NULL THEN :page ELSE 1000 END
)
SELECT b.id::text AS id, extract(epoch FROM b.at)::float8 AS at, b.role, b.os_user, b.host, b.engine, b.schema, b.reason,
       b.arguments ->> 'redrive' AS redrive, e.ended, e.revived, extract(epoch FROM coalesce(e.at, b.at))::float8 AS last_at
  FROM begun b
 CROSS JOIN LATERAL (
       SELECT max(l.arguments ->> 'redrive') FILTER (WHERE l.arguments #>> '{redrive,event}' = 'end') AS ended, max(l.at) AS at,
              coalesce(sum(jsonb_array_length(jsonb_path_query_array(l.results, '$[*] ? (@.outcome == "changed")'))), 0)::int8 AS revived
         FROM unstick.audit_log l WHERE l.arguments ? 'redrive' AND l.arguments #>> '{redrive,run}' = b.id::text) AS e
 WHERE :schema IS NULL OR (b.schema = :schema AND e.ended IS NULL)
 ORDER BY b.id DESC
 LIMIT :page
