-- title: Checkpoint
\set column checkpoint
\ir ../parts/payload_of_step.sql
