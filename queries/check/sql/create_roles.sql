-- Two roles that may log in, in a database that is hardened as usual: no role may use a schema or call a function of the
-- application unless that is granted.
CREATE ROLE :"viewer" LOGIN PASSWORD :'password';
CREATE ROLE :"operator" LOGIN PASSWORD :'password';
DO $$ DECLARE s name; BEGIN
  FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema' LOOP
    EXECUTE format('REVOKE ALL ON SCHEMA %I FROM PUBLIC', s);
    EXECUTE format('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', s);
  END LOOP;
END $$;
