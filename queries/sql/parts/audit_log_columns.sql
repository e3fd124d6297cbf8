-- Columns of an entry `l`, without its results and its rows.
       l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host, l.engine, l.schema,
       l.action, l.reason, l.arguments::text AS arguments
