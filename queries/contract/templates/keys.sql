ARRAY(SELECT CAST(substr(i, :start) AS :type) FROM unnest(:ids) AS i WHERE i :like)
