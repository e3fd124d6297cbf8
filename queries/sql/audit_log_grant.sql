-- What an operator's role needs: to add entries (never when, who or in which transaction) and to read them.
GRANT USAGE ON SCHEMA unstick TO {role};
GRANT SELECT ON unstick.audit_log TO {role};
GRANT INSERT (os_user, host, application, engine, schema, action, reason, arguments, results, changes) ON unstick.audit_log TO {role};
