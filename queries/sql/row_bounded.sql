-- Row {row} as JSON, with the size and digest of each large value instead of the value: JSON cannot hold some of them.
-- {large}: true if the row may have a large value; {values}: its columns; {function}: row_to_json or to_jsonb
CASE WHEN {large} THEN (SELECT {function}(s) FROM (SELECT {values}) AS s) ELSE {function}({row}) END
