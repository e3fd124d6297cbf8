-- Whether cron_last_exec is small enough to be read whole.
all_cron AS MATERIALIZED (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole AS few)
