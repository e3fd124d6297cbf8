-- Remove a database and end its sessions.
DROP DATABASE IF EXISTS :"database" WITH (FORCE)
