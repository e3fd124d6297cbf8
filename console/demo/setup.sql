-- Roles and privileges of the demo's database.

-- :database
CREATE DATABASE demo TEMPLATE template0;

-- :roles
CREATE ROLE viewer LOGIN PASSWORD 'viewer';
CREATE ROLE operator LOGIN PASSWORD 'operator';

-- :schema
-- Create the schema that the connection's search_path names.
DO $$ BEGIN
    EXECUTE format('CREATE SCHEMA %I', current_setting('search_path'));
END $$;

-- :seed
SELECT setseed($1);

-- :grants
DO $$ BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO viewer, operator', current_schema());
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO viewer, operator', current_schema());
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO operator', current_schema());
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO operator', current_schema());
END $$;

-- :analyze
ANALYZE;
