       concat_ws('/', j.xmin, 'r' || r.xmin, 'c' || c.xmin, 'f' || f.xmin, 'b' || b.xmin, 's' || s.xmin)
