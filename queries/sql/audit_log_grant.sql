-- Privileges for an operator's role: read entries, and add them except for time, role and transaction.
GRANT USAGE ON SCHEMA unstick TO {role};
GRANT SELECT ON unstick.audit_log TO {role};
GRANT INSERT (os_user, host, application, engine, schema, action, reason, arguments, results, changes) ON unstick.audit_log TO {role};
