-- The job's payload.
-- title: Payload
-- kinds: job
-- Index: pgqueuer_pkey.
SELECT substr(j.payload, 1, :bytes) AS payload, octet_length(j.payload)::int8 AS size
  FROM :"schema".:"pgqueuer" j
 WHERE j.id = substr(:id, 5)::int8
