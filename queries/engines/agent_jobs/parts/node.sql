-- n: node columns of the job j.
 CROSS JOIN LATERAL (SELECT
\ir job.sql
       ) AS n
