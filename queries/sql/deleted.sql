-- Number of rows of these tables that this session has deleted, from the server's statistics.
-- Subtract the number from before a change, because the server keeps counts of earlier transactions for a while.
-- NULL for a table that is not found by its name, and if track_counts is off.
-- ids: names of tables, with or without their schema
-- Index: pg_class_relname_nsp_index.
SELECT n.name AS "table",
       CASE WHEN current_setting('track_counts') = 'on'
            THEN (SELECT sum(pg_stat_get_xact_tuples_deleted(coalesce(p.relid, c.oid)))
                    FROM pg_class c LEFT JOIN LATERAL pg_partition_tree(c.oid) AS p ON c.relkind = 'p'
                   WHERE c.relname = split_part(n.name, '.', -1) AND c.relkind IN ('r', 'p'))::int8 END AS n
  FROM unnest(:ids) AS n(name)
