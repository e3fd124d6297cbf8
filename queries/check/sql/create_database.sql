-- A copy of a database.
CREATE DATABASE :"database" TEMPLATE :"template"
