-- Running jobs without a heartbeat, whose worker beats for no other job.
-- needs: picked
-- needs of ids: none
-- Indexes: pgqueuer_picked_heartbeat_idx, pgqueuer_pkey.
WITH
\set beats false
\ir ../parts/silent.sql
