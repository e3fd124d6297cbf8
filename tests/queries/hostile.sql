-- Objects that a role with CREATE on a schema can make so that another role's statements run its code: functions and
-- operators with the names and exactly the types of the server's own, and overloads of the engine's functions that fit
-- a call better. Run by that role. All bodies are PL/pgSQL, so the server
-- counts each call (track_functions).
-- names: functions to imitate; engine: its schema; home: the schema to create them in.
CREATE FUNCTION hostile_objects(names text[], engine text, home text) RETURNS int LANGUAGE plpgsql AS $make$
DECLARE
  f record;
  o record;
  made int := 0;
BEGIN
  -- The server's functions of these names, and the engine's with base types in place of domains.
  FOR f IN
    SELECT DISTINCT p.proname,
           (SELECT string_agg(format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL), ', ' ORDER BY a.n)
              FROM unnest(p.proargtypes) WITH ORDINALITY AS a(oid, n) JOIN pg_type t ON t.oid = a.oid) AS args,
           CASE WHEN r.typtype = 'p' THEN 'boolean' ELSE format_type(p.prorettype, NULL) END AS result
      FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype
     WHERE p.prokind = 'f' AND p.pronargs > 0
       AND (p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (names) AND r.typtype <> 'p'
            OR p.pronamespace = engine::regnamespace AND has_schema_privilege(engine, 'USAGE'))
       AND NOT EXISTS (SELECT FROM unnest(p.proargtypes) AS a(oid) JOIN pg_type t ON t.oid = a.oid WHERE t.typtype = 'p')
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN NULL; END $$',
                     home, f.proname, f.args, f.result);
      made := made + 1;
    EXCEPTION WHEN duplicate_function OR insufficient_privilege OR undefined_object THEN
    END;
  END LOOP;
  -- The server's operators on types that engines use, and combinations for which it has only polymorphic ones.
  FOR o IN
    SELECT p.oprname AS name, format_type(p.oprleft, NULL) AS l, format_type(p.oprright, NULL) AS r, format_type(p.oprresult, NULL) AS result
      FROM pg_operator p
     WHERE p.oprnamespace = 'pg_catalog'::regnamespace AND p.oprkind = 'b'
       AND p.oprleft = ANY (ARRAY['text', 'uuid', 'int2', 'int4', 'int8', 'float8', 'numeric', 'bool', 'timestamptz', 'timestamp',
             'interval', 'jsonb', 'json', 'macaddr8', 'bytea', 'xid', 'name', 'oid', 'varchar', 'char', 'text[]']::regtype[])
       AND p.oprright = ANY (ARRAY['text', 'uuid', 'int2', 'int4', 'int8', 'float8', 'numeric', 'bool', 'timestamptz', 'timestamp',
             'interval', 'jsonb', 'json', 'macaddr8', 'bytea', 'xid', 'name', 'oid', 'varchar', 'char', 'text[]']::regtype[])
       AND p.oprname IN ('=', '<>', '<', '>', '<=', '>=', '||', '+', '-', '*', '/', '~', '~*', '!~', '@>', '<@', '?', '->', '->>', '#>>', '#>', '~~')
    UNION ALL
    SELECT '||', 'text', t, 'text' FROM unnest(ARRAY['uuid', 'bigint', 'integer', 'smallint', 'macaddr8', 'xid', 'timestamptz', 'interval', 'varchar']) AS t
    UNION ALL
    SELECT '||', t, 'text', 'text' FROM unnest(ARRAY['uuid', 'bigint', 'integer', 'smallint', 'macaddr8', 'xid', 'timestamptz', 'interval', 'varchar']) AS t
    UNION ALL
    SELECT '=', t, t, 'boolean' FROM unnest(ARRAY['varchar', 'uuid[]', 'json', 'json[]']) AS t
    UNION ALL
    SELECT op, format_type(y.oid, NULL), format_type(y.oid, NULL), 'boolean'
      FROM pg_type y CROSS JOIN unnest(ARRAY['=', '<>', '<', '>']) AS op
     WHERE y.typnamespace = engine::regnamespace AND y.typtype IN ('e', 'c') AND has_schema_privilege(engine, 'USAGE')
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION %I.hostile_%s(l %s, r %s) RETURNS %s LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN NULL; END $$',
                     home, made, o.l, o.r, o.result);
      EXECUTE format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %I.hostile_%s)', home, o.name, o.l, o.r, home, made);
      made := made + 2;
    EXCEPTION WHEN duplicate_function OR insufficient_privilege THEN
    END;
  END LOOP;
  RETURN made;
END $make$;
