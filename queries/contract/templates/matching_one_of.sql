AND (:asked IS NULL OR :column = ANY (ARRAY(SELECT jsonb_array_elements_text(:asked))))
