-- Nodes that have no children.
-- kinds: :kinds
SELECT NULL::text AS id, NULL::text AS cursor WHERE false
