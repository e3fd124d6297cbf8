-- title: Inputs
\set column inputs
\ir ../parts/payload_of_step.sql
