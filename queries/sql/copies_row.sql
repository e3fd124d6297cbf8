-- Changed rows of one table: the change and the image of each as JSON.
-- {table}: from image_columns.sql; {whole}: the images have all columns; {label}: of the engine; {named}: of the table;
--   {before}, {after}: the columns that differ; {key}: values of the key; {kept}, {all}: columns of the image of a changed or
--   deleted row; {marks}: first character of each text of varying size, "#" if the value is too large to be read
SELECT p.id, p."table", p.key, p.deleted, p.regular AND (NOT p.deleted OR {whole}) AND ('#' = ANY (ARRAY[{marks}]::text[])) IS NOT TRUE AS regular,
       {label} || substr(p.id, 2) || {named} || p.key || ',"before":{' || array_to_string(ARRAY[{before}], ',')
         || CASE WHEN p.deleted THEN '},"after":null}' ELSE '},"after":{' || array_to_string(ARRAY[{after}], ',') || '}}' END AS change,
       '[' || p.id || ',[' || {key} || '],{' || CASE WHEN p.deleted THEN {all} || '},null,null]'
                                                     ELSE {kept} || '},"' || p.digest || '","' || p.xmin || '"]' END AS image
  FROM pairs p
 WHERE p."table" = {table}
