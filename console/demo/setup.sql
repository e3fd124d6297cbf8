-- Roles and privileges of the demo's database.

-- name: database
CREATE DATABASE demo TEMPLATE template0;

-- name: roles
CREATE ROLE viewer LOGIN PASSWORD 'viewer';
CREATE ROLE operator LOGIN PASSWORD 'operator';

-- name: schema
-- Create the schema that the connection's search_path names.
DO $$ BEGIN
    EXECUTE format('CREATE SCHEMA %I', current_setting('search_path'));
END $$;

-- name: seed
SELECT setseed($1);

-- name: grants
DO $$ BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO viewer, operator', current_schema());
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO viewer, operator', current_schema());
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO operator', current_schema());
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO operator', current_schema());
END $$;

-- name: analyze
ANALYZE;
