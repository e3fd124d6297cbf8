-- Changed rows of one table: the change and the image of each as JSON.
-- {table}: from image_columns.sql; {whole}: the images have all columns; {label}: of the engine; {named}: of the table;
--   {before}, {after}: the columns that differ; {key}: values of the key; {kept}, {all}: columns of the image of a changed or
--   deleted row
SELECT p."table", p.deleted, p.regular AND (NOT p.deleted OR {whole}) AS regular,
       {label} || substr(p.id, 2) || {named} || p.key || ',"before":{' || concat_ws(',', {before})
         || CASE WHEN p.deleted THEN '},"after":null}' ELSE '},"after":{' || concat_ws(',', {after}) || '}}' END AS change,
       '[' || p.id || ',[' || {key} || '],{' || CASE WHEN p.deleted THEN {all} || '},null,null]'
                                                     ELSE {kept} || '},"' || p.digest || '","' || p.xmin || '"]' END AS image
  FROM pairs p
 WHERE p."table" = {table}
