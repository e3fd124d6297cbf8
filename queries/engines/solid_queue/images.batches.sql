-- needs: batches
-- Indexes: the primary key of jobs, the unique indexes on job_id, key and queue_name of the other tables.
WITH \ir parts/image_rows.sql
SELECT * FROM image_rows
UNION ALL
SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text
  FROM :"schema".solid_queue_batch_executions e
 WHERE e.job_id = ANY (:job_keys)
