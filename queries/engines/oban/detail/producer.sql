-- title: Producer (times in UTC)
-- kinds: producer
-- needs: producers
SELECT p.node, p.queue, p.name, p.meta::text AS meta, p.started_at::text AS started, p.updated_at::text AS "last heartbeat"
  FROM :"schema".oban_producers p
 WHERE 'producer:' || p.uuid = :id
