CREATE INDEX CONCURRENTLY :on :table (:columns)
