-- The changes of a part and their images as JSON, from the rows before and after.
-- copied: the rows before, from copies_before.sql; bytes: of the image of a row, at most
-- {copied}: the statement `rows` of the action; {images}: images_row.sql for each table that has images; {compared}: copies_row.sql
--   for each of them; {tables}: their images as JSON, or nothing if no images are kept
-- regular: each changed row has a complete image. Otherwise nothing else is returned.
-- Rows with `ours` false, if there is that column, are of other transactions.
WITH was AS MATERIALIZED (
  SELECT w.*
    FROM json_to_record(:copied::text::json) AS x(ids text[], tables text[], keys text[], texts text[], rests text[])
   CROSS JOIN unnest(x.ids, x.tables, x.keys, x.texts, x.rests) AS w(id, "table", key, texts, rest)
),
now AS MATERIALIZED (
  SELECT c.id, c."table", c.key, c.ours, i.xmin, i.texts::text, i.rest
    FROM (SELECT true AS ours) AS absent CROSS JOIN LATERAL (SELECT c.id, c."table", c.key, c.place, ours FROM (
{copied}
) AS c) AS c LEFT JOIN LATERAL (
{images}
) AS i ON true
),
pairs AS MATERIALIZED (
  SELECT to_json(coalesce(w.id, n.id))::text AS id, coalesce(w."table", n."table") AS "table", to_json(coalesce(w.key, n.key))::text AS key,
         n.id IS NULL AS deleted, w.texts::text[] AS was, n.texts::text[] AS now, n.xmin, left(md5(n.texts || n.rest), 16) AS digest,
         w.rest IS NOT NULL AND (n.id IS NULL OR n.rest IS NOT DISTINCT FROM w.rest) AND octet_length(w.texts) <= :bytes AS regular
    FROM was w FULL JOIN now n ON n.id = w.id AND n."table" = w."table" AND n.key = w.key
   WHERE (w.texts IS DISTINCT FROM n.texts OR w.rest IS DISTINCT FROM n.rest OR w.rest IS NULL) AND n.ours IS NOT FALSE
),
compared AS (
  SELECT '[' || coalesce(string_agg(r.change, ',' ORDER BY r.id COLLATE "C", r."table" COLLATE "C", r.key COLLATE "C"), '') || ']' AS changes,
         '{"tables":[' || array_to_string(ARRAY[{tables}]::text[], ',') || ']}' AS images,
         count(*) = (SELECT count(*) FROM pairs) AND coalesce(bool_and(r.regular), true) AS regular,
         array_agg(r."table") FILTER (WHERE r.deleted) AS deleted, array_agg(r."table") FILTER (WHERE NOT r.deleted) AS updated
    FROM (
{compared}
) AS r
)
SELECT regular, deleted, updated, CASE WHEN regular THEN changes END AS changes, CASE WHEN regular THEN images END AS images FROM compared
