-- :witnesses
WITH \ir ../parts/witnesses.sql
SELECT w.id, w.witness, w.verdict, w.detail, w.since FROM witnesses w
