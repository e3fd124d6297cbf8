-- Indexes: the primary key of jobs, the unique indexes on job_id, key and queue_name of the other tables.
\ir parts/image_rows.sql
