-- The first page, and a row without an id if the search was truncated.
\ir page.sql
UNION ALL
SELECT NULL, NULL, NULL FROM more WHERE more
