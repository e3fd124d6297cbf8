-- Indexes: the primary key of jobs, the unique indexes on job_id, key and queue_name of the other tables.
WITH \ir parts/image_rows.sql
SELECT * FROM image_rows
