-- Let triggers fire and foreign keys hold in this transaction. A role whose session_replication_role is replica changes
-- rows without them. Only a superuser may set it, so it is set only if it must be; other roles are refused.
SELECT set_config('session_replication_role', 'origin', true)
 WHERE current_setting('session_replication_role') <> 'origin'
