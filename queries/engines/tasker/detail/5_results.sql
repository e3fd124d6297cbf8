-- title: Results
\set column results
\ir ../parts/payload_of_step.sql
