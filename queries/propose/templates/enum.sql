CREATE TYPE :type AS ENUM (:labels);
