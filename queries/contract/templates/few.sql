(SELECT count(*) < :most FROM (SELECT FROM :"schema".:table LIMIT :most) AS f)
