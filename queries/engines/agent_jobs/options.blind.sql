-- Who owns the work, where no index lets us look: the careful answer.
SELECT 'profile' AS name, 'mirror' AS value, 'not looked for: no index leads with jobs.user_id' AS why
