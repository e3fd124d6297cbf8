(:columns) IN (SELECT :texts FROM unnest(:ids) AS i WHERE i ~ ':pattern')
