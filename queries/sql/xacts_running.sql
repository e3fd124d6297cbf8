-- Those of the 32-bit transaction ids of rows that this transaction can read that have not committed: its own subtransactions.
-- ids: of transactions that are younger than this one's oldest
SELECT i AS xid
  FROM unnest(:ids) AS i
 CROSS JOIN LATERAL (SELECT pg_current_xact_id()::text::numeric AS own) AS x
 CROSS JOIN LATERAL (SELECT mod(i::numeric - mod(x.own, 4294967296) + 6442450944, 4294967296) - 2147483648 AS distance) AS d
 WHERE pg_xact_status((x.own + d.distance)::text::xid8) = 'in progress'
