-- Let triggers fire and foreign keys be checked until the transaction ends, also for a role whose setting is "replica".
-- Only a superuser may set it, so it is set only if it must be; other roles are refused.
-- Indexes: none.
SELECT set_config('session_replication_role', 'origin', true) WHERE current_setting('session_replication_role') <> 'origin'
