-- Locked jobs that were locked before each session of a worker began.
-- needs: locked
-- needs of ids: none
-- Indexes: one on (locked_at) of locked jobs, jobs_pkey1, job_queues_pkey1.
\ir ../parts/locked.sql
  WHERE j.locked_at < s.oldest AND j.locked_at < now() - :worker_lost
\ir ../parts/locked_end.sql
