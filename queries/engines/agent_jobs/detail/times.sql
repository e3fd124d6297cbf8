-- title: Recorded values
-- kinds: job
-- Index: jobs_pkey.
SELECT j.job_id, j.agent_id::text, j.user_id::text, j.created_at::text, j.started_at::text, j.completed_at::text, j.updated_at::text,
       CASE WHEN isfinite(j.created_at) AND isfinite(j.completed_at) THEN (j.completed_at - j.created_at)::text END AS turnaround
  FROM :"schema".jobs j
 WHERE j.id = substr(:id, 5)::uuid
