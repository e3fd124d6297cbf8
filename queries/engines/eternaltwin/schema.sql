-- The known tables of the engine, for the demo and the tests.
-- All objects are created in the first schema of the search_path. Parameters: none.
--
-- Known: job, task, task_timer, their index and constraints, the enum and the composite type. The base types of the
-- domains are those of the engine's migrations. `users` has only its key here; the real table has more columns.
-- An `instant` is rounded to milliseconds, so a created_at can be later than a polled_at that was taken after it.
-- Use one now() per statement.

CREATE DOMAIN instant AS timestamp(3) with time zone;
CREATE DOMAIN u16 AS int4 CHECK (value >= 0 AND value < 65536);
CREATE DOMAIN u32 AS int8 CHECK (value >= 0 AND value < 4294967296);
CREATE DOMAIN user_id AS uuid;
CREATE DOMAIN job_id AS uuid;
CREATE DOMAIN task_id AS uuid;
CREATE DOMAIN tick_salt AS u16;
CREATE DOMAIN task_kind AS varchar(32) CHECK (value ~ '^[A-Z][A-Za-z0-9]{0,31}$');
CREATE TYPE task_status AS ENUM ('Complete', 'Available', 'Blocked');
CREATE TYPE job_tick AS (time instant, salt tick_salt);

CREATE TABLE users (
    user_id user_id NOT NULL,
    created_at instant NOT NULL,
    PRIMARY KEY (user_id)
);

-- The list of long-running jobs. A job manages a single task tree.
CREATE TABLE job (
    job_id job_id NOT NULL,
    created_at instant NOT NULL,
    created_by user_id NULL,
    -- Initial state, to support restarting a job from scratch
    initial_state bytea NOT NULL,
    PRIMARY KEY (job_id),
    CONSTRAINT job__user__fk FOREIGN KEY (created_by) REFERENCES users (user_id) ON DELETE SET NULL ON UPDATE CASCADE
);

-- The list of long-running tasks.
CREATE TABLE task (
    task_id task_id NOT NULL,
    -- The job managing this task
    job_id job_id NOT NULL,
    -- Name of the task kind (immutable)
    kind task_kind NOT NULL,
    -- A version number for the data stored in `state`
    kind_version u32 NOT NULL,
    created_at instant NOT NULL,
    -- When the task was last polled (executed / updated)
    polled_at job_tick NULL,
    -- Number of steps executed
    revision u32 NOT NULL,
    status task_status NOT NULL,
    -- Total execution time (excluding await points)
    cpu_duration interval NOT NULL,
    -- Total execution time (including await points)
    poll_duration interval NOT NULL,
    -- Internal state of the task
    state bytea NOT NULL,
    -- Output of the task
    output bytea NULL,
    PRIMARY KEY (task_id),
    CHECK (created_at <= (polled_at).time),
    CONSTRAINT task__job__fk FOREIGN KEY (job_id) REFERENCES job (job_id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX task__available_polled_at__idx ON task (polled_at) WHERE status = 'Available';

-- Timers registered by tasks. One task may have several.
CREATE TABLE task_timer (
    -- When the task should be polled
    deadline instant NOT NULL,
    task_id task_id NOT NULL,
    PRIMARY KEY (deadline, task_id),
    CONSTRAINT task_timer__task__fk FOREIGN KEY (task_id) REFERENCES task (task_id) ON DELETE CASCADE ON UPDATE CASCADE
);
