:few AND :parent IS NOT NULL AND (:same OR NOT EXISTS (SELECT FROM :"schema".:above AS p WHERE p.:key = :parent))
