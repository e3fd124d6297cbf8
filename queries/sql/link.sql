-- As many bytes as are asked for, to measure how fast they come.
-- bytes: their number
SELECT repeat('.', :bytes) AS dots
