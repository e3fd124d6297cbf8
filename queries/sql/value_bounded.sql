-- Text or bytes {value} as JSON. The size is read without the value. {bytes}: the most that are copied
CASE WHEN octet_length({value}) > {bytes} THEN to_json(octet_length({value}) || ' bytes, md5 ' || md5({value})) ELSE to_json({value}) END
