-- Begin of a script that makes tables in a schema of their own.
CREATE SCHEMA IF NOT EXISTS :"schema";
SET search_path = :"schema";
