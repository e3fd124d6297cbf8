-- For a copy of an engine in the schema aaa: code that runs at a read, at a write, at a cast and in a domain's check.
CREATE FUNCTION hostile_policy() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
CREATE FUNCTION hostile_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
CREATE FUNCTION hostile_check(value text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
DO $do$
DECLARE t record;
BEGIN
  FOR t IN SELECT c.oid::regclass AS name FROM pg_class c WHERE c.relnamespace = 'aaa'::regnamespace AND c.relkind = 'r' LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t.name);
    EXECUTE format('CREATE POLICY p ON %s USING (aaa.hostile_policy())', t.name);
    EXECUTE format('CREATE TRIGGER hostile BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION aaa.hostile_trigger()', t.name);
    EXECUTE format('GRANT ALL ON %s TO PUBLIC', t.name);
  END LOOP;
  FOR t IN SELECT y.oid::regtype AS name FROM pg_type y WHERE y.typnamespace = 'aaa'::regnamespace AND y.typtype = 'd' LOOP
    BEGIN
      EXECUTE format('ALTER DOMAIN %s ADD CONSTRAINT hostile CHECK (aaa.hostile_check(VALUE::text))', t.name);
    EXCEPTION WHEN feature_not_supported THEN -- a domain in a composite type of a table's column
    END;
  END LOOP;
  FOR t IN SELECT y.oid::regtype AS name, y.typname FROM pg_type y WHERE y.typnamespace = 'aaa'::regnamespace AND y.typtype = 'e' LOOP
    EXECUTE format('CREATE FUNCTION %I(%s) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN %L; END $$', 'hostile_cast_' || t.typname, t.name, 'x');
    EXECUTE format('CREATE CAST (%s AS text) WITH FUNCTION %I(%s) AS IMPLICIT', t.name, 'hostile_cast_' || t.typname, t.name);
  END LOOP;
END $do$;
GRANT USAGE ON SCHEMA aaa TO PUBLIC;
