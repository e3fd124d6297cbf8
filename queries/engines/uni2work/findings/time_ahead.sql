-- Find jobs and cron entries whose times are ahead of the server's clock.
\ir ../parts/ahead.sql
\ir ../parts/ahead_rows.sql
