   AND (
\ir version.sql
       ) = (:versions)[array_position(:ids, 'job:' || j.id)]
