-- Privileges for an operator's role: read entries, and add them except for time, role and transaction.
GRANT USAGE ON SCHEMA unstick TO {role};
GRANT SELECT ON unstick.audit_log, unstick.audit_images TO {role};
GRANT INSERT (os_user, host, application, engine, schema, action, reason, arguments, results, changes, images_digest) ON unstick.audit_log TO {role};
GRANT INSERT (entry, images) ON unstick.audit_images TO {role};
GRANT SELECT ON SEQUENCE unstick.audit_log_id_seq TO {role}; -- audit --verify compares its last id with the newest entry
