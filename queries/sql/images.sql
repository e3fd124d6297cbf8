-- The rows of nodes, each with its image. A row of another table has none.
-- {located}: the statement that returns their places; {images}: images_row.sql for each table
-- bytes: a text with more characters comes as its digest after "~", for a caller who has it; NULL: all come whole
WITH located AS MATERIALIZED (
{located}
)
SELECT c.id, c.relation::text AS relation, c.place, i.xmin, i.own,
       CASE WHEN :bytes IS NULL THEN i.texts ELSE ARRAY(
         SELECT CASE WHEN length(v) > :bytes THEN '~' || encode(sha256(convert_to(v, getdatabaseencoding())), 'hex') ELSE v END
           FROM unnest(i.texts) WITH ORDINALITY AS u(v, n) ORDER BY n) END AS texts,
       CASE WHEN :bytes IS NULL THEN i.more ELSE ARRAY(
         SELECT CASE WHEN length(v) > :bytes THEN '~' || encode(sha256(convert_to(v, getdatabaseencoding())), 'hex') ELSE v END
           FROM unnest(i.more) WITH ORDINALITY AS u(v, n) ORDER BY n) END AS more,
       i.rest, i.digest
  FROM located c LEFT JOIN LATERAL (
{images}
) AS i ON true
