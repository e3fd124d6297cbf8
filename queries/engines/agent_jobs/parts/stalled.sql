-- The queue, if no job has ended since the oldest late job was created. The table only shows that no job has ended; the
-- cause is inferred. With one late job it is least certain: the unrecorded completion of an idle deployment's last job
-- has the same rows. With 500 users nothing is known, because a job of another user may have ended.
-- needs: by_user
\ir users.sql
, \ir late.sql
, \ir ended.sql
,
more AS (SELECT NOT e.known AND (e.at > now() - :late) IS NOT TRUE AS more FROM ended e),
nodes AS (
  SELECT 'queue:all' AS id, l.*, EXISTS (SELECT FROM users u CROSS JOIN LATERAL (SELECT FROM :"schema".jobs a WHERE a.user_id = u.user_id AND a.status = 'active' LIMIT 1) AS o) AS active
    FROM ended e CROSS JOIN (SELECT min(o.created_at) AS oldest, count(*) AS n FROM late o WHERE :ids IS NULL OR 'queue:all' = ANY (:ids)) AS l
   WHERE e.known AND l.n > 0 AND (e.at >= l.oldest) IS NOT TRUE
)
