-- All rows of a table, for a small database only. The table is read whole.
SELECT to_jsonb(t.*) AS row FROM :"schema".:"table" AS t
