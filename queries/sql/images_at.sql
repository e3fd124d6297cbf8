-- Rows of one table at their places, each with its image.
-- {images}: images_row.sql
-- changes: for each row an array with the oid of its table and its place
SELECT c.n, c.place, i.*
  FROM (SELECT e.n::int - 1 AS n, (e.r ->> 0)::oid AS relation, e.r ->> 1 AS place
          FROM jsonb_array_elements(:changes::text::jsonb) WITH ORDINALITY AS e(r, n)) AS c
 CROSS JOIN LATERAL (
{images}
) AS i
