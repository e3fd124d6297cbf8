-- The first entry of a run, with the list of its nodes, and whether the entry still has its hash.
-- id: the run
-- Indexes: audit_log_pkey, audit_images_pkey.
SELECT
\ir parts/audit_log_columns.sql
     , i.images::text AS members,
       coalesce(l.digest =
\ir parts/audit_log_digest.sql
       , false) AS intact
  FROM unstick.audit_log l
  LEFT JOIN unstick.audit_images i ON i.entry = l.id
 WHERE l.id = :id::text::bigint AND l.arguments #>> '{run,event}' = 'begin'
