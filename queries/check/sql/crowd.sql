-- Make all rows that may refer to one row refer to it, by a foreign key of one column or by references: objects with the
-- table, its column, the parent's table and its key. Triggers and foreign keys are off. What a constraint refuses stays.
SET session_replication_role = replica;
DO $$
DECLARE r record;
BEGIN
  FOR r IN
    SELECT DISTINCT c.relname AS child, a.attname AS col, b.attname AS key, c.oid = p.oid AS self
      FROM pg_class p
      JOIN pg_namespace n ON n.oid = p.relnamespace AND n.nspname = :'schema'
      JOIN LATERAL (SELECT f.conrelid AS relid, f.conkey[1] AS attnum, f.confkey[1] AS key
                      FROM pg_constraint f WHERE f.contype = 'f' AND f.confrelid = p.oid AND cardinality(f.conkey) = 1
                     UNION
                    SELECT d.oid, x.attnum, y.attnum
                      FROM jsonb_to_recordset(:'references'::jsonb) AS g("table" text, "column" text, "of" text, "key" text)
                      JOIN pg_class d ON d.relname = g."table" AND d.relnamespace = n.oid
                      JOIN pg_attribute x ON x.attrelid = d.oid AND x.attname = g."column"
                      JOIN pg_attribute y ON y.attrelid = p.oid AND y.attname = g."key"
                     WHERE g."of" = p.relname) AS k ON true
      JOIN pg_class c ON c.oid = k.relid AND c.relnamespace = n.oid
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
      JOIN pg_attribute b ON b.attrelid = p.oid AND b.attnum = k.key
     WHERE p.relname = :'table'
  LOOP
    BEGIN
      EXECUTE format('UPDATE %1$I.%2$I c SET %3$I = p.%4$I FROM %1$I.%5$I p WHERE p.ctid = %6$L::tid AND (%7$L = ''f'' OR c.ctid <> p.ctid)',
                     :'schema', r.child, r.col, r.key, :'table', :'place', CASE WHEN r.self THEN 't' ELSE 'f' END);
    EXCEPTION WHEN integrity_constraint_violation OR data_exception OR datatype_mismatch THEN NULL;
    END;
  END LOOP;
END $$;
