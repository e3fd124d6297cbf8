-- Whether the ledger is there, and whether this role may write and read it.
SELECT to_regclass('unstick.ledger') IS NOT NULL AS exists,
       CASE WHEN to_regclass('unstick.ledger') IS NOT NULL AND has_schema_privilege('unstick', 'USAGE')
            THEN has_any_column_privilege('unstick.ledger', 'INSERT') ELSE false END AS writable,
       CASE WHEN to_regclass('unstick.ledger') IS NOT NULL AND has_schema_privilege('unstick', 'USAGE')
            THEN has_table_privilege('unstick.ledger', 'SELECT') ELSE false END AS readable
