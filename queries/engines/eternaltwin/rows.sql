-- The rows of jobs and tasks, with the transaction or MultiXact that locked each row last.
-- Indexes: job_pkey, task_pkey.
\ir parts/node_rows.sql
