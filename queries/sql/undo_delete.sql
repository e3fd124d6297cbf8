-- Delete inserted rows.
-- {relation}: from undo_columns.sql
-- places: physical places of the rows
-- changes: for each row an object with place and xmin
-- Reads each row by its place, without an index.
DELETE FROM {relation} AS t
 USING (SELECT (e ->> 'place')::tid AS place, e ->> 'xmin' AS xmin FROM jsonb_array_elements(:changes::text::jsonb) AS e) AS i
 WHERE t.ctid = ANY (:places::text[]::tid[])
   AND t.ctid = i.place
   AND t.xmin::text = i.xmin
