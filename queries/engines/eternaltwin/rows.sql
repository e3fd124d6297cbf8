-- The rows of jobs and tasks, with the transaction or MultiXact that locked each row last.
-- $1 ids text[]: local ids
-- Indexes: job_pkey, task_pkey.
\ir parts/node_rows.sql
