AND (:asked IS NULL OR (:column)::float8 BETWEEN (:asked ->> 0)::float8 AND (:asked ->> 1)::float8)
