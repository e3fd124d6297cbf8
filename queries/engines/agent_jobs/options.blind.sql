-- Profile without an index that would allow to detect it: mirror, which allows fewer actions.
SELECT 'profile' AS name, 'mirror' AS value, 'not checked: no index starts with jobs.user_id' AS why
