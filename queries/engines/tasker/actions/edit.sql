-- Replace the inputs of a failed step, then retry the step. A worker reads the inputs from the row each time it claims the step.
-- The task's context is not edited: the engine derives the task's identity from it, and finished steps have used it.
-- versions: version of each node that the operator saw, or the digest of the inputs that were edited
-- args: inputs: text, the edited inputs; seen, the digest of the inputs that were edited; budget (fresh, one more),
--   checkpoint (keep, clear)
-- limit: number of successes
-- The newest 2,000 steps are read for successes: ids are in the order of time.

-- :lock
WITH \ir ../parts/locked.sql
SELECT l.id, l.version FROM locked l

-- :lock
-- The inputs of the steps, locked above. The row has no version: it locks no further step.
SELECT 'step:' || s.workflow_step_uuid AS id, NULL::text AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('document', encode(sha256(convert_to(s.inputs::text, 'UTF8')), 'hex')) @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged
  FROM unnest(:ids, :versions) AS seen(id, version)
  JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(seen.id, 6)::uuid

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN :args -> 'inputs' ->> 'text' IS NULL THEN 'there is no edited text'
       WHEN a.to_state <> 'error' AND NOT (a.to_state IN ('pending', 'waiting_for_retry') AND a.attempts > 0 AND (a.attempts >= coalesce(a.max_attempts, 3) OR NOT a.retryable) IS TRUE)
       THEN 'it is ' || a.to_state || ', not in error'
       WHEN encode(sha256(convert_to(a.inputs::text, 'UTF8')), 'hex') IS DISTINCT FROM :args -> 'inputs' ->> 'seen'
       THEN 'the inputs were changed since they were read'
       WHEN jsonb_typeof((:args -> 'inputs' ->> 'text')::jsonb) <> jsonb_typeof(a.inputs) THEN 'the inputs of a step are a JSON ' || jsonb_typeof(a.inputs)
       WHEN (:args -> 'inputs' ->> 'text')::jsonb -> '__template_step_name' IS DISTINCT FROM a.inputs -> '__template_step_name'
       THEN 'the engine finds the handler of the step by __template_step_name, so that key must stay' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, retrying AS MATERIALIZED (SELECT s.*, 'pending' AS becomes FROM steps_seen s),
moving AS MATERIALIZED (SELECT r.*, '{"type":"ResetForRetry"}' AS event FROM retrying r WHERE r.to_state = 'error'),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
, \ir ../parts/retried.sql
SELECT r.workflow_step_uuid FROM retried r

-- :change
WITH \ir ../parts/changed.sql
, \ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
-- Only steps that the statements above have changed have this transaction's time.
WITH \ir ../parts/finished.sql
UPDATE :"schema".workflow_steps s
   SET inputs = (:args -> 'inputs' ->> 'text')::jsonb
 WHERE s.workflow_step_uuid = ANY (:step_keys)
   AND s.updated_at = localtimestamp
   AND encode(sha256(convert_to(s.inputs::text, 'UTF8')), 'hex') = :args -> 'inputs' ->> 'seen'
RETURNING 'step:' || s.workflow_step_uuid AS id

-- :document
SELECT 'step:' || s.workflow_step_uuid AS id, encode(sha256(convert_to(s.inputs::text, 'UTF8')), 'hex') AS digest, 'jsonb' AS stored,
       octet_length(s.inputs::text)::int8 AS size, CASE WHEN octet_length(s.inputs::text) <= :bytes THEN s.inputs::text END AS document,
       CASE WHEN s.inputs IS NULL
            THEN 'the step has no inputs: its handler reads the task''s context, from which the engine derives the task''s identity. A new task is needed for another context' END AS why
  FROM :"schema".workflow_steps s
 WHERE s.workflow_step_uuid = ANY (:step_keys)

-- :successes
-- title: of the newest 2,000 steps, complete ones of the same name
WITH newest AS (
  SELECT s.workflow_step_uuid, s.named_step_uuid, s.inputs, s.processed FROM :"schema".workflow_steps s ORDER BY s.workflow_step_uuid DESC LIMIT 2000
)
SELECT n.inputs::text AS document
  FROM newest n
 WHERE n.processed
   AND n.named_step_uuid = (SELECT s.named_step_uuid FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = substr((:ids)[1], 6)::uuid)
   AND octet_length(n.inputs::text) <= :bytes
   AND EXISTS (SELECT FROM :"schema".workflow_step_transitions x
                WHERE x.workflow_step_uuid = n.workflow_step_uuid AND x.most_recent AND x.to_state = 'complete')
 LIMIT :limit
