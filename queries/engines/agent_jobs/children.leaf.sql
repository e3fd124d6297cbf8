-- No rows: jobs and the queue have no children.
-- kinds: job queue
SELECT NULL::text AS id, NULL::text AS cursor WHERE false
