-- Jobs of an entrypoint, newest first.
-- kinds: entrypoint
-- needs: job_by_entrypoint
-- parent: local id: entrypoint:name
SELECT 'job:' || j.id AS id, j.id::text AS cursor
  FROM :"schema".:"pgqueuer" j
 WHERE j.entrypoint = substr(:parent, 12) AND j.id < coalesce(:cursor::text::int8, 9223372036854775807)
 ORDER BY j.id DESC
 LIMIT :limit
