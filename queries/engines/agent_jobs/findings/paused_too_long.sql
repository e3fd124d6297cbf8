-- Jobs that are paused for longer than the threshold. Only an executor that polls this table sets jobs to paused.
\set status paused
\set bound paused_too_long
\ir ../parts/too_long.sql
