-- Jobs that are delayed for longer than the threshold. Only an executor that polls this table sets jobs to delayed.
\set status delayed
\set bound delayed_too_long
\ir ../parts/too_long.sql
