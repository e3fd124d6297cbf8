AND (:asked IS NULL OR (:column) COLLATE "C" ~* ALL (ARRAY(SELECT jsonb_array_elements_text(:asked))))
