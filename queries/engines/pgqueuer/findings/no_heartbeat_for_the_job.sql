-- Running jobs without a heartbeat, whose worker lives: it beats for other jobs.
-- needs: picked
-- needs of ids: none
-- Indexes: pgqueuer_picked_heartbeat_idx, pgqueuer_pkey.
WITH
\set beats true
\ir ../parts/silent.sql
