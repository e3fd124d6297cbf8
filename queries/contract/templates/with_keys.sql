FROM (SELECT :text AS :key, t.*, t.xmin, t.xmax, t.ctid, t.tableoid FROM :"schema".:table AS t) AS t
