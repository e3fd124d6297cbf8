-- Jobs that are locked for long, while a worker is connected that began before.
-- needs: locked
-- needs of ids: none
-- Indexes: one on (locked_at) of locked jobs, jobs_pkey1, job_queues_pkey1.
\ir ../parts/locked.sql
  WHERE j.locked_at >= s.oldest AND j.locked_at < now() - :locked_too_long
\ir ../parts/locked_end.sql
