FROM (SELECT :text AS :key, t.*, t.xmin FROM :"schema".:table AS t) AS t
