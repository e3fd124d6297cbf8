-- Jobs that are delayed for longer than the threshold. Only an executor that polls this table sets jobs to delayed.
-- needs: by_user
\set status delayed
\ir ../parts/of_status.sql
(SELECT 'job:' || w.id AS id, extract(epoch FROM greatest(w.created_at, w.updated_at))::float8 AS since,
        jsonb_build_object('job_id', w.job_id, 'since', date_trunc('second', greatest(w.created_at, w.updated_at))::text) AS evidence
   FROM checked w
  WHERE :settings ->> 'profile' = 'table' AND greatest(w.created_at, w.updated_at) < now() - :delayed_too_long
  ORDER BY greatest(w.created_at, w.updated_at), w.id
  LIMIT :page)
\ir ../parts/of_status_more.sql
