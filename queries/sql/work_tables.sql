-- Tables whose columns have names like those of work, by at least three of the patterns. Only the catalog is read.
-- schema: the only one, or ""
-- Index: pg_attribute_relid_attnum_index.
WITH p (mark, pattern) AS (
  VALUES ('holding', 'lock|claim|lease|reserv|pick|tak|own|worker|start|fetch|heart|seen|process|deliver|perform|attempted|exec|run|pid|host'),
         ('due', 'next|due|sched|avail|visib|after|till|delay|eta|vt|run|wait|before|execut|retry|fire|at$'),
         ('tries', 'attempt|tries|retr|fail|count|ct'),
         ('data', 'payload|arg|param|input|body|message|data|handler|request|json|cfg|config|event'),
         ('error', 'err|exc|fail|trace|reason'),
         ('end', 'finish|compl|done|end|stop|fail|sent|publish|process|success|deliver|expired|final|dead'),
         ('states', '^st$|stat|phase|stage|step|condition'))
SELECT f.schema, f.name, f.tuples,
       (SELECT json_agg(json_build_object(
                 'name', a.attname, 'type', coalesce(b.typname, t.typname), 'schema', n.nspname, 'enum', t.typtype = 'e', 'labels', '[]'::jsonb,
                 'required', a.attnotnull, 'default', '-', 'refers', false, 'generated', false, 'checks', '[]'::jsonb) ORDER BY a.attnum)::text
          FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
          JOIN pg_namespace n ON n.oid = coalesce(b.typnamespace, t.typnamespace)
         WHERE a.attrelid = f.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
  FROM (SELECT c.oid, n.nspname::text AS schema, c.relname::text AS name, greatest(c.reltuples, 0)::int8 AS tuples,
               (SELECT count(DISTINCT p.mark)
                  FROM pg_attribute a JOIN p ON a.attname ~* p.pattern
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS marks
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnatts BETWEEN 4 AND 200
           AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'unstick') AND n.nspname NOT LIKE 'pg\_t%'
           AND :schema IN ('', n.nspname) AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
         ORDER BY c.oid DESC LIMIT 5000) AS f
 WHERE f.marks >= 3
 ORDER BY f.marks DESC, f.schema, f.name
 LIMIT 1000
