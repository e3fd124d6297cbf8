-- Conditions of a worker's statement, to be judged as a folder's statements are.
SELECT :conditions
