-- Tables for which nothing is proposed.
CREATE TABLE no_key (state text);
CREATE TABLE odd_key (id inet PRIMARY KEY, state text);
CREATE TABLE "with.dot" (id int8 PRIMARY KEY, state text);
CREATE TABLE queue (id int8 PRIMARY KEY, state text);
CREATE VIEW a_view AS SELECT * FROM queue;
CREATE TABLE closed (id int8 PRIMARY KEY, state text);
CREATE SCHEMA other;
CREATE TABLE other.queue (id int8 PRIMARY KEY, state text);
