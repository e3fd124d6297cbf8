-- How many rows of these tables the transactions of this session have deleted, as the server counts for its statistics.
-- What was counted before a change is to be subtracted: the server keeps counts of earlier transactions for a while.
-- A table that is not found by its name, and any table where the server does not count, gives no number.
-- $1 ids text[]: names of tables, with or without their schema
-- Index: pg_class_relname_nsp_index.
SELECT n.name AS "table",
       CASE WHEN current_setting('track_counts') = 'on'
            THEN (SELECT sum(pg_stat_get_xact_tuples_deleted(coalesce(p.relid, c.oid)))
                    FROM pg_class c LEFT JOIN LATERAL pg_partition_tree(c.oid) AS p ON c.relkind = 'p'
                   WHERE c.relname = split_part(n.name, '.', -1) AND c.relkind IN ('r', 'p'))::int8 END AS n
  FROM unnest($1::text[]) AS n(name)
