-- The engine's tables as its automatic migration makes them, for the demo and the tests.
-- Everything is created in the first schema of the search_path. Parameters: none.
--
-- Known: tables, columns, types, keys. There is no foreign key, no table of instances, and no index but these keys'.
-- At its start the application compares the tables with its model: a column or a constraint that the model does not
-- know stops it or is dropped. A plain index is not looked at. So nothing may ever be added here but an index.

-- Jobs to be executed as soon as possible in the background. A row goes when its job has succeeded.
CREATE TABLE queued_job (
    id bigserial PRIMARY KEY,
    content jsonb NOT NULL,
    -- For debugging only: which instance made it
    creation_instance uuid NOT NULL,
    creation_time timestamptz NOT NULL,
    -- The instance that has begun to execute it, and when
    lock_instance uuid NULL,
    lock_time timestamptz NULL,
    -- Whether its success is to be recorded in cron_last_exec
    write_last_exec boolean NOT NULL DEFAULT false
);

-- When a job was last executed, so that the cron system can tell whether it is due.
CREATE TABLE cron_last_exec (
    id bigserial PRIMARY KEY,
    job jsonb NOT NULL,
    "time" timestamptz NOT NULL,
    instance uuid NOT NULL,
    CONSTRAINT unique_cron_last_exec UNIQUE (job)
);

-- Throttles. Depth and rate are settings of the application.
CREATE TABLE token_bucket (
    ident varchar NOT NULL,
    last_value int8 NOT NULL,
    last_access timestamptz NOT NULL,
    PRIMARY KEY (ident)
);
