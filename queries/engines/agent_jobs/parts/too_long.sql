-- The jobs of a status that have been in it for longer than the threshold `bound`, if an executor polls this table.
-- needs: by_user
-- status: `delayed`, for example
\ir of_status.sql
(SELECT 'job:' || w.id AS id, extract(epoch FROM greatest(w.created_at, w.updated_at))::float8 AS since,
        jsonb_build_object('job_id', w.job_id, 'since', date_trunc('second', greatest(w.created_at, w.updated_at))::text) AS evidence
   FROM checked w
  WHERE :settings ->> 'profile' = 'table'
    AND greatest(w.created_at, w.updated_at) < now() - make_interval(secs => (:settings ->> :'bound')::float8)
  ORDER BY greatest(w.created_at, w.updated_at), w.id
  LIMIT :limit)
\ir of_status_more.sql
