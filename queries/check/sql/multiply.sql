-- Multiply the rows of some tables, with other keys, and times that differ by microseconds. The copy of a row refers to the
-- copy of its parent, by a foreign key or by references: objects with the table, its column, the parent's table and its key.
-- Triggers and foreign keys are off meanwhile. A row that breaks a unique index is left off. Sequences go on after the copies.
-- Plain indexes are created afterwards, which costs a part of updating them for each row.
SET session_replication_role = replica;
SET work_mem = '64MB';
SET maintenance_work_mem = '256MB';
CREATE TEMP TABLE multiplied (relid oid PRIMARY KEY, relname name, nspname name, copies int8) ON COMMIT DROP;
CREATE TEMP TABLE multiplied_indexes (name text, ddl text) ON COMMIT DROP;
CREATE TEMP TABLE multiplied_keys (relid oid, attnum int2, span int8, PRIMARY KEY (relid, attnum)) ON COMMIT DROP;
DO $$
DECLARE
  t record; a record; many int8; wide int8; names text; copies text;
BEGIN
  FOR t IN SELECT c.oid, c.relname, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = :'schema' AND c.relkind IN ('r', 'p') AND c.relname = ANY (:'tables'::text[])
  LOOP
    EXECUTE format('SELECT count(*) FROM %I.%I', t.nspname, t.relname) INTO many;
    CONTINUE WHEN many = 0 OR many >= :'rows'::int8;
    INSERT INTO multiplied VALUES (t.oid, t.relname, t.nspname, :'rows'::int8 / many);
    FOR a IN SELECT k.attname, k.attnum, y.typname FROM pg_attribute k JOIN pg_type y ON y.oid = k.atttypid
              WHERE k.attrelid = t.oid AND k.attnum > 0
                AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid AND i.indisunique AND k.attnum = ANY (i.indkey::int2[]))
                AND NOT EXISTS (SELECT FROM pg_partitioned_table p WHERE p.partrelid = t.oid AND k.attnum = ANY (p.partattrs::int2[]))
    LOOP
      wide := NULL;
      IF a.typname IN ('int8', 'int4') THEN
        EXECUTE format('SELECT max(%1$I) - min(%1$I) + 1 FROM %2$I.%3$I', a.attname, t.nspname, t.relname) INTO wide;
      END IF;
      INSERT INTO multiplied_keys VALUES (t.oid, a.attnum, coalesce(wide, 1));
    END LOOP;
  END LOOP;

  INSERT INTO multiplied_indexes
  SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
    FROM multiplied m
    JOIN pg_class c ON c.oid = m.relid AND c.relkind = 'r'
    JOIN pg_index i ON i.indrelid = c.oid AND NOT i.indisunique
   WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
     AND NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = i.indexrelid);
  FOR t IN SELECT * FROM multiplied_indexes
  LOOP
    EXECUTE 'DROP INDEX ' || t.name;
  END LOOP;

  FOR t IN SELECT * FROM multiplied
  LOOP
    SELECT string_agg(format('%I', c.attname), ', ' ORDER BY c.attnum),
           string_agg(CASE
             WHEN c.typname IN ('timestamptz', 'timestamp') THEN format('s.%I + s.copy * interval ''1 microsecond''', c.attname)
             WHEN c.copy IS NULL THEN format('s.%I', c.attname)
             WHEN c.typname IN ('int8', 'int4') THEN format('s.%I + %s * %s', c.attname, c.copy, c.span)
             WHEN c.typname = 'uuid' THEN format('CASE WHEN %2$s = 0 THEN s.%1$I ELSE md5(s.%1$I::text || ''-'' || %2$s)::uuid END', c.attname, c.copy)
             WHEN c.typname IN ('text', 'varchar') THEN format('s.%1$I || CASE WHEN %2$s = 0 THEN '''' ELSE ''-'' || %2$s END', c.attname, c.copy)
             ELSE format('s.%I', c.attname) END, ', ' ORDER BY c.attnum)
      INTO names, copies
      FROM (SELECT k.attname, k.attnum, y.typname, coalesce(p.span, o.span) AS span,
                   CASE WHEN p.relid IS NOT NULL THEN format('(s.copy %% %s)', m.copies + 1)
                        WHEN o.relid IS NOT NULL AND m.relid IS NULL THEN 's.copy' END AS copy
              FROM pg_attribute k
              JOIN pg_type y ON y.oid = k.atttypid
              LEFT JOIN LATERAL (
                   SELECT r.relid, r.attnum
                     FROM (SELECT c.confrelid AS relid, u.of_parent AS attnum
                             FROM pg_constraint c CROSS JOIN unnest(c.conkey, c.confkey) AS u(own, of_parent)
                            WHERE c.contype = 'f' AND c.conrelid = t.relid AND u.own = k.attnum
                            UNION
                           SELECT b.attrelid, b.attnum
                             FROM jsonb_to_recordset(:'references'::jsonb) AS g("table" text, "column" text, "of" text, "key" text)
                             JOIN pg_class d ON d.relname = g."of" AND d.relnamespace = (SELECT n.oid FROM pg_namespace n WHERE n.nspname = t.nspname)
                             JOIN pg_attribute b ON b.attrelid = d.oid AND b.attname = g."key"
                            WHERE g."table" = t.relname AND g."column" = k.attname) AS r
                    ORDER BY r.relid, r.attnum
                    LIMIT 1) AS f ON true
              LEFT JOIN multiplied m ON m.relid = f.relid
              LEFT JOIN multiplied_keys p ON p.relid = m.relid AND p.attnum = f.attnum
              LEFT JOIN multiplied_keys o ON o.relid = t.relid AND o.attnum = k.attnum
             WHERE k.attrelid = t.relid AND k.attnum > 0 AND NOT k.attisdropped AND k.attgenerated = '') AS c;
    EXECUTE format('INSERT INTO %I.%I (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM (SELECT r.*, n AS copy FROM %I.%I AS r, generate_series(1, %s) AS n) AS s ON CONFLICT DO NOTHING',
                   t.nspname, t.relname, names, copies, t.nspname, t.relname, t.copies);
  END LOOP;

  FOR t IN SELECT * FROM multiplied_indexes
  LOOP
    EXECUTE t.ddl;
  END LOOP;

  FOR t IN SELECT m.nspname, m.relname, k.attname, pg_get_serial_sequence(format('%I.%I', m.nspname, m.relname), k.attname) AS sequence
             FROM multiplied m JOIN pg_attribute k ON k.attrelid = m.relid AND k.attnum > 0 AND NOT k.attisdropped
  LOOP
    CONTINUE WHEN t.sequence IS NULL;
    EXECUTE format('SELECT setval(%L, max(%I)) FROM %I.%I', t.sequence, t.attname, t.nspname, t.relname);
  END LOOP;
END $$;
