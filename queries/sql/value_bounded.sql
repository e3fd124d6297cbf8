-- Text or bytes {value} as JSON. The size is read without the value. {limit}: bytes that are copied
CASE WHEN octet_length({value}) > {limit} THEN to_json(octet_length({value}) || ' bytes, md5 ' || md5({value})) ELSE to_json({value}) END
