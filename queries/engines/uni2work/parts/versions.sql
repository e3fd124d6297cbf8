-- Version of each job in `held`, which the including file has. unchanged: the content is that of the finding's guard,
-- or the one that was edited (`seen.version` is a guard or a version); steady is its digest.
versions AS (
  SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.row_version AS version,
         CASE WHEN seen.version LIKE 'same:%'
              THEN jsonb_build_object('content', CASE WHEN pg_column_size(q.content) < 2000 THEN md5(q.content::text) ELSE pg_column_size(q.content)::text END,
                                      'document', encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex'))
                   @> substr(seen.version, 6)::jsonb
              ELSE false END AS unchanged,
         encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex') AS steady
    FROM held q
    LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'job:' || q.id
)
