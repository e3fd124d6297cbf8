-- Changes since a time: new jobs, locks, executions by cron. A row without an id says what was not searched.
WITH \ir parts/changes.sql
SELECT * FROM changes
