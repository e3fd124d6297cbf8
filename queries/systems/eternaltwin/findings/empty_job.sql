-- Jobs that have no task at all.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- needs: task_by_job, job_by_created
SELECT 'job:' || j.job_id AS id, extract(epoch FROM j.created_at)::float8 AS since,
       jsonb_build_object('created_at', date_trunc('second', j.created_at)::text, 'initial_state', octet_length(j.initial_state) || ' bytes') AS evidence
  FROM job j
 WHERE j.created_at < now() - make_interval(secs => ($2::jsonb ->> 'empty_job')::float8)
   AND ($1::text[] IS NULL OR j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) i WHERE i LIKE 'job:%')))
   AND NOT EXISTS (SELECT FROM task t WHERE t.job_id = j.job_id)
 ORDER BY j.created_at, j.job_id
 LIMIT $3::int
