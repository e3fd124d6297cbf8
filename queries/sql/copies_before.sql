-- The rows that a part will change, each with its image, as one text that copies_compared.sql reads.
-- {copied}: the statement `rows` of the action; {images}: images_row.sql for each table that has images
SELECT json_build_object('ids', array_agg(c.id)::text, 'tables', array_agg(c."table")::text, 'keys', array_agg(c.key)::text,
                         'texts', array_agg(i.texts::text)::text, 'rests', array_agg(i.rest)::text)::text AS rows
  FROM (
{copied}
) AS c LEFT JOIN LATERAL (
{images}
) AS i ON true
