-- Value {value} of another type as JSON. {bytes}: most bytes of its text that are copied; {stored}: bytes in the table from which the text is read
CASE WHEN pg_column_size({value}) > {stored}
     THEN (SELECT CASE WHEN octet_length(o.v) > {bytes} THEN to_json(octet_length(o.v) || ' bytes, md5 ' || md5(o.v)) ELSE to_json({value}) END
             FROM (SELECT {value}::text OFFSET 0) AS o(v))
     ELSE to_json({value}) END
