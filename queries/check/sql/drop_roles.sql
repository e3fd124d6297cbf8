-- Remove the two roles and their privileges in this database.
DROP OWNED BY :"viewer", :"operator";
DROP ROLE :"viewer", :"operator";
