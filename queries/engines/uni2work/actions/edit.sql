-- Replace the content of an unlocked job. A locked row is neither changed nor locked: the worker has read the content,
-- and a write would abort its SERIALIZABLE transaction. The content of a cron job is its key in cron_last_exec, so it
-- stays.
-- versions: version of each node that the operator saw, or the digest of the content that was edited
-- args: content: text, the edited content; seen, the digest of the content that was edited

-- :refused
SELECT r.id, r.why, r.for_now
  FROM (SELECT 'job:' || q.id AS id, q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL AS for_now,
               CASE WHEN :args -> 'content' ->> 'text' IS NULL THEN 'there is no edited text'
                    WHEN coalesce((to_jsonb(q) ->> 'write_last_exec')::bool, false)
                    THEN 'cron created this job, and its content is the key under which cron records the execution'
                    WHEN q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL
                    THEN 'it is locked by ' || coalesce('instance ' || q.lock_instance, 'an unknown instance') || ', which has read the content. Wait, or release the lock if that instance is gone'
                    WHEN encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex') IS DISTINCT FROM :args -> 'content' ->> 'seen'
                    THEN 'the content was changed since it was read' END AS why
          FROM :"schema".queued_job q
         WHERE q.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL

-- :change
UPDATE :"schema".queued_job q
   SET content = (:args -> 'content' ->> 'text')::jsonb
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND q.lock_instance IS NULL AND q.lock_time IS NULL
   AND NOT coalesce((to_jsonb(q) ->> 'write_last_exec')::bool, false)
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
   AND encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex') = :args -> 'content' ->> 'seen'
RETURNING 'job:' || q.id AS id

-- :document
SELECT 'job:' || q.id AS id, d.digest AS digest, 'jsonb' AS stored, d.size AS size,
       CASE WHEN d.size <= :bytes THEN q.content::text END AS document,
       CASE WHEN coalesce((to_jsonb(q) ->> 'write_last_exec')::bool, false)
            THEN 'cron created this job, and its content is the key under which cron records the execution' END AS why
  FROM :"schema".queued_job q
 CROSS JOIN LATERAL (SELECT encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex') AS digest, octet_length(q.content::text)::int8 AS size) AS d
 WHERE q.id = ANY (:job_keys)
