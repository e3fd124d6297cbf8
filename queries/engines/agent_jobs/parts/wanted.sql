-- The kind and the key of each given id.
wanted AS MATERIALIZED (
  SELECT i AS id, split_part(i, ':', 1) AS kind,
         CASE WHEN split_part(i, ':', 2) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN split_part(i, ':', 2)::uuid END AS key
    FROM unnest(:ids) AS i
)
