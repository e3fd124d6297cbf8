-- Replace the state of an unfinished task. The revision is incremented, so the compare-and-set of a running poll fails
-- and its result, computed from the old state, is discarded (assumed). The state is stored as bytes of UTF-8, as the
-- operator leaves it.
-- versions: for each id, the version that the operator saw, or the digest of the state that was edited
-- args: state: text, the edited state; seen, the digest of the state that was edited
-- limit: number of successes
-- Index: task_pkey. Ids are random, so the tasks nearest by id are a random sample.

-- :lock
SELECT 'task:' || t.task_id AS id, t.revision || ':' || t.status || ':' || t.xmin AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('document', encode(sha256(t.state), 'hex')) @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged
  FROM :"schema".task t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id
   FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'task:' || t.task_id AS id,
               CASE WHEN :args -> 'state' ->> 'text' IS NULL THEN 'there is no edited text'
                    WHEN t.status = 'Complete' THEN 'the task is Complete, so it is not polled again'
                    WHEN encode(sha256(t.state), 'hex') IS DISTINCT FROM :args -> 'state' ->> 'seen'
                    THEN 'the state was changed since it was read' END AS why
          FROM :"schema".task t
         WHERE t.task_id = ANY (:task_keys)) AS r
 WHERE r.why IS NOT NULL

-- :change
UPDATE :"schema".task t
   SET state = convert_to(:args -> 'state' ->> 'text', 'UTF8'), revision = t.revision + 1
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::uuid
   AND t.status <> 'Complete'
   AND t.revision || ':' || t.status || ':' || t.xmin = seen.version
   AND encode(sha256(t.state), 'hex') = :args -> 'state' ->> 'seen'
RETURNING 'task:' || t.task_id AS id

-- :document
SELECT 'task:' || t.task_id AS id, encode(sha256(t.state), 'hex') AS digest, 'bytea' AS stored, octet_length(t.state)::int8 AS size,
       CASE WHEN octet_length(t.state) <= :bytes THEN t.state END AS document,
       CASE WHEN t.status = 'Complete' THEN 'the task is Complete, so it is not polled again' END AS why
  FROM :"schema".task t WHERE t.task_id = ANY (:task_keys)

-- :successes
-- title: of 2,000 tasks chosen at random, Complete ones of its kind and version that have an output
WITH asked AS MATERIALIZED (
  SELECT t.task_id, t.kind, t.kind_version FROM :"schema".task t
   WHERE t.task_id = ANY (:task_keys)
),
nearest AS (
  (SELECT t.kind, t.kind_version, t.status, t.output, t.state FROM :"schema".task t
    WHERE t.task_id > (SELECT a.task_id FROM asked a) ORDER BY t.task_id LIMIT 1000)
  UNION ALL
  (SELECT t.kind, t.kind_version, t.status, t.output, t.state FROM :"schema".task t
    WHERE t.task_id < (SELECT a.task_id FROM asked a) ORDER BY t.task_id DESC LIMIT 1000)
)
SELECT n.state AS document
  FROM nearest n JOIN asked a ON a.kind = n.kind AND a.kind_version = n.kind_version
 WHERE n.status = 'Complete' AND n.output IS NOT NULL AND octet_length(n.state) <= :bytes
 LIMIT :limit
