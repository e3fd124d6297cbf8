-- Changes since a time: new jobs, locks, executions by cron. A row without an id says what was not searched.
-- title: recorded: the creation and the lock of a queued job, the last execution of a cron job, the last access to a token bucket; not recorded: the status before, and the end of a job, whose row is deleted
WITH \ir parts/changes.sql
SELECT * FROM changes
