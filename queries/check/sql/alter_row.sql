-- Change each column of one row but its keys and its status, as work on it does. What a constraint refuses stays.
-- columns: names that may be changed. statuses: values of a status.
DO $$
DECLARE r record; place tid := :'place'; now_at tid;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR r IN
    SELECT a.attname AS col, t.typname AS type
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = :'schema'
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a'
      JOIN pg_type t ON t.oid = a.atttypid
     WHERE c.relname = :'table' AND a.attname = ANY (:'columns'::text[])
       AND t.typname IN ('int2', 'int4', 'int8', 'text', 'varchar', 'timestamptz', 'timestamp')
       AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f' AND a.attnum = ANY (k.conkey))
       AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey::int2[]))
  LOOP
    BEGIN
      EXECUTE format('UPDATE %I.%I SET %I = %s WHERE ctid = %L::tid AND (%3$I IS NULL OR %3$I::text <> ALL (%6$L::text[])) RETURNING ctid',
        :'schema', :'table', r.col,
        CASE WHEN r.type LIKE 'int_' THEN format('coalesce(%I, 0) + 1', r.col)
             WHEN r.type LIKE 'timestamp%' THEN format('coalesce(%I, now()) + interval ''1 second''', r.col)
             ELSE format('coalesce(%I, '''') || ''x''', r.col) END,
        place, :'statuses') INTO now_at;
      place := coalesce(now_at, place);
    EXCEPTION WHEN integrity_constraint_violation OR data_exception THEN NULL;
    END;
  END LOOP;
  SET LOCAL session_replication_role = origin;
END $$;
