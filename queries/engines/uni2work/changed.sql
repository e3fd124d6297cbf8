-- Changes since a time: new jobs, locks, executions by cron. A row without an id says what was not searched.
-- $1 since float8: seconds since 1970
-- $2 cursor text: JSON object with the last place of each part on the previous page, or NULL
-- $3 page int
-- $4 settings jsonb: window and head: number of rows to read at an end of a table
-- $5 met_needs text[]
-- Indexes: queued_job_pkey backwards, because ids are in the order of creation; one on queued_job(lock_time) if it exists, else
-- the window of the oldest jobs; one on cron_last_exec(time) if it exists, else the head of cron_last_exec_pkey backwards.
WITH
\ir parts/changes.sql
