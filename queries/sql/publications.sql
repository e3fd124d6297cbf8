-- Publications that include tables created later.
SELECT p.pubname::text AS name FROM pg_publication p WHERE p.puballtables AND p.pubinsert ORDER BY p.pubname
