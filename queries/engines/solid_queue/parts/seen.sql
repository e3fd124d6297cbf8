   AND ('job:' || j.id,
\ir version.sql
       ) IN (SELECT * FROM unnest(:ids, :versions))
