-- safe: the text of the message e.element, made safe for jsonb, which rejects escapes and numbers that json accepts.
         CASE WHEN octet_length(e.element::text) < 100000
              THEN regexp_replace(regexp_replace(e.element::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                  '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') END AS safe
