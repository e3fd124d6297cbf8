-- How many of these nodes the list of a run has. The list does not travel: it may have 100,000 nodes.
-- ids: the nodes; id: the run
-- Indexes: audit_log_pkey, audit_images_pkey.
WITH
\ir parts/entries.sql
SELECT count(*)::int AS n
  FROM entries l
  JOIN unstick.audit_images i ON i.entry = l.id
 CROSS JOIN LATERAL json_array_elements(CASE WHEN json_typeof(i.images -> 'members') = 'array' THEN i.images -> 'members' END) AS m(member)
 WHERE l.id = :id::text::bigint
   AND l.digest = l.hash
   AND encode(sha256(convert_to(i.images::text, 'UTF8')), 'hex') = l.arguments #>> '{run,digest}'
   AND m.member ->> 0 = ANY (:ids)
