-- Refusals of an action on claimed jobs whose worker may live, and the signs of its life.
-- :refused
SELECT 'job:' || j.id AS id,
       CASE WHEN c.id IS NULL OR j.finished_at IS NOT NULL THEN 'no process has claimed it'
            ELSE 'its process ' || p.id || ' lives: the last heartbeat was at ' || date_trunc('second', p.last_heartbeat_at) || ' UTC' END AS why
\ir jobs.sql
   AND (c.id IS NULL OR j.finished_at IS NOT NULL OR NOT
\ir claim_dead.sql
       )

-- :witnesses
SELECT 'job:' || j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail, w.since AS since
  FROM (SELECT j.id, c.process_id, c.created_at AS claimed, p.id AS known, p.kind, p.hostname, p.pid, p.last_heartbeat_at AS beat
\ir jobs.sql
           AND c.id IS NOT NULL) AS j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', CASE WHEN j.known IS NULL OR j.beat < timezone('UTC', now()) - :alive
                            THEN 'dead' ELSE 'alive' END,
          CASE WHEN j.known IS NULL THEN coalesce('process ' || j.process_id || ' is not registered any more', 'the claim names no process')
               ELSE j.kind || ' ' || j.known || coalesce(' on ' || j.hostname, '') || ', pid ' || j.pid || ', last heartbeat at ' || date_trunc('second', j.beat) || ' UTC' END,
          extract(epoch FROM coalesce(j.beat, j.claimed))::float8
 ) AS w(witness, verdict, detail, since)
