-- Triggers, constraints and unique indexes of the relations in `tables`. `meaning` has no name of an object, and
-- no schema, cast or bracket of an expression. It is NULL where it cannot be read: pg_get_expr() would wait for a lock.
exclusive AS MATERIALIZED (
  SELECT l.relation FROM pg_locks l
   WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
),
parts AS (
  SELECT t.label, t.oid, 'trigger' AS sort, g.oid AS id, g.tgname AS object, t.name AS place,
         concat_ws(' ', CASE WHEN g.tgtype & 2 > 0 THEN 'before' WHEN g.tgtype & 64 > 0 THEN 'instead of' ELSE 'after' END,
                   CASE WHEN g.tgtype & 4 > 0 THEN 'insert' END, CASE WHEN g.tgtype & 8 > 0 THEN 'delete' END,
                   CASE WHEN g.tgtype & 16 > 0 THEN 'update' END, CASE WHEN g.tgtype & 32 > 0 THEN 'truncate' END, p.proname) AS content
    FROM tables t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal JOIN pg_proc p ON p.oid = g.tgfoid
  UNION ALL
  SELECT t.label, t.oid, 'check', k.oid, k.conname, t.name,
         CASE WHEN t.oid NOT IN (TABLE exclusive) THEN pg_get_expr(k.conbin, k.conrelid) END
    FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'c'
  UNION ALL
  -- Foreign keys of the table, and those of others that refer to it. Not a join: the planner would read all of pg_class.
  SELECT t.label, t.oid, CASE WHEN f.own THEN 'foreign key' ELSE 'reference' END, k.oid, k.conname,
         (SELECT c.relname::text FROM pg_class c WHERE c.oid = k.conrelid),
         (SELECT string_agg(a.attname, ', ' ORDER BY n.n) FROM unnest(k.conkey) WITH ORDINALITY AS n(attnum, n)
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.attnum)
         || ' to ' || (SELECT c.relname::text FROM pg_class c WHERE c.oid = k.confrelid)
    FROM tables t CROSS JOIN (VALUES (true), (false)) AS f(own)
    JOIN pg_constraint k ON k.contype = 'f' AND CASE WHEN f.own THEN k.conrelid ELSE k.confrelid END = t.oid
  UNION ALL
  SELECT t.label, t.oid, CASE WHEN i.indisexclusion THEN 'exclusion constraint' ELSE 'unique index' END, i.indexrelid, c.relname, t.name,
         CASE WHEN i.indpred IS NULL AND i.indexprs IS NULL OR t.oid NOT IN (TABLE exclusive) THEN
           (SELECT string_agg(a.attname, ', ' ORDER BY n.n) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS n(attnum, n)
              LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = n.attnum WHERE n.n <= i.indnkeyatts)
           || coalesce(' of ' || pg_get_expr(i.indexprs, i.indrelid), '') || coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '') END
    FROM tables t JOIN pg_index i ON i.indrelid = t.oid AND (i.indisunique OR i.indisexclusion) JOIN pg_class c ON c.oid = i.indexrelid
),
objects AS MATERIALIZED (
  SELECT p.label, p.oid, p.sort, p.id, p.object, p.place,
         CASE p.sort WHEN 'reference' THEN 'foreign key' ELSE p.sort END || ' on ' || p.place || ': ' || regexp_replace(
           replace(p.content, quote_ident(t.nspname) || '.', ''),
           '::("?[a-z_0-9]+"?[.])?"?[a-z_0-9]+"?( varying| precision| with time zone| without time zone)?([(][0-9]+[)])?([[][]])?|[()]', '', 'g') AS meaning
    FROM parts p JOIN tables t ON (t.label, t.oid) = (p.label, p.oid)
)
