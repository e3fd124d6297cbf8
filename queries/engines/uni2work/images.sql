-- The rows that an action may change.
WITH \ir parts/images.sql
SELECT i.id, i.relation, i.place FROM images i
