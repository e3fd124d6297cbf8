-- No image, where no table of the engine has any.
SELECT NULL::text AS xmin, NULL::bool AS own, NULL::text[] AS texts, NULL::text[] AS more, NULL::text AS rest, NULL::text AS digest WHERE false
