-- :witnesses
\ir ../parts/executor_witnesses.sql
