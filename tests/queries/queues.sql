-- Task tables of known projects, restated in small, and home-made ones: schema.table, then rows of each state. The columns of
-- `all` are in every row. @-3h is a moment, @ms-3h milliseconds since 1970, @s-3h and @f-3h seconds. The number of rows is that
-- of `COUNTS`. `claim` is the condition of the rows that a worker takes.

-- river.river_job
CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
CREATE TABLE river_job (id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available', attempt int2 NOT NULL DEFAULT 0, max_attempts int2 NOT NULL, attempted_at timestamptz, created_at timestamptz NOT NULL DEFAULT now(), finalized_at timestamptz, scheduled_at timestamptz NOT NULL DEFAULT now(), priority int2 NOT NULL DEFAULT 1, args jsonb NOT NULL DEFAULT '{}', attempted_by text[], errors jsonb[], kind text NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', queue text NOT NULL DEFAULT 'default');
-- all: kind='mail' max_attempts=25
-- done: state='completed' attempt=1 attempted_at=@-2h finalized_at=@-2h attempted_by='{w1}' scheduled_at=@-2h
-- failed: state='discarded' attempt=25 attempted_at=@-1h finalized_at=@-1h attempted_by='{w1}' errors=ARRAY['{"error":"timeout"}'::jsonb]
-- stuck: state='running' attempt=1 attempted_at=@-3h attempted_by='{w1}' scheduled_at=@-3h
-- running: state='running' attempt=1 attempted_at=@-1m attempted_by='{w2}' scheduled_at=@-1m
-- late: scheduled_at=@-40m
-- later: state='scheduled' scheduled_at=@+1d

-- pgboss.job
CREATE TYPE job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
CREATE TABLE job (id uuid NOT NULL DEFAULT gen_random_uuid(), name text NOT NULL, priority int NOT NULL DEFAULT 0, data jsonb, state job_state NOT NULL DEFAULT 'created', retry_limit int NOT NULL DEFAULT 2, retry_count int NOT NULL DEFAULT 0, start_after timestamptz NOT NULL DEFAULT now(), started_on timestamptz, singleton_key text, expire_seconds int NOT NULL DEFAULT 900, created_on timestamptz NOT NULL DEFAULT now(), completed_on timestamptz, keep_until timestamptz NOT NULL DEFAULT now() + '14 days', output jsonb, dead_letter text, PRIMARY KEY (name, id));
-- all: name='mail' data='{}'
-- done: state='completed' started_on=@-2h completed_on=@-2h start_after=@-2h
-- failed: state='failed' started_on=@-1h completed_on=@-1h retry_count=2 output='{"message": "timeout"}' start_after=@-2h
-- stuck: state='active' started_on=@-3h start_after=@-3h
-- running: state='active' started_on=@-1m start_after=@-1m
-- late: start_after=@-40m
-- later: start_after=@+1d

-- goodjob.good_jobs
CREATE TABLE good_jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), queue_name text, priority int, serialized_params jsonb, scheduled_at timestamp, performed_at timestamp, finished_at timestamp, error text, created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now(), active_job_id uuid, concurrency_key text, is_discrete bool DEFAULT true, executions_count int, job_class text, error_event int2, labels text[], locked_by_id uuid, locked_at timestamp);
-- all: queue_name='default' job_class='MailJob' serialized_params='{}' active_job_id=gen_random_uuid() priority=0
-- done: scheduled_at=@-2h performed_at=@-2h finished_at=@-2h executions_count=1
-- failed: scheduled_at=@-1h performed_at=@-1h finished_at=@-1h error='Net::Timeout' executions_count=5
-- stuck: scheduled_at=@-3h performed_at=@-3h locked_at=@-3h locked_by_id='00000000-0000-4000-8000-000000000001' executions_count=1
-- running: scheduled_at=@-1m performed_at=@-1m locked_at=@-1m locked_by_id='00000000-0000-4000-8000-000000000002' executions_count=1
-- late: scheduled_at=@-40m
-- later: scheduled_at=@+1d

-- que.que_jobs
CREATE TABLE que_jobs (priority int2 NOT NULL DEFAULT 100, run_at timestamptz NOT NULL DEFAULT now(), id bigserial PRIMARY KEY, job_class text NOT NULL, error_count int NOT NULL DEFAULT 0, last_error_message text, queue text NOT NULL DEFAULT 'default', last_error_backtrace text, finished_at timestamptz, expired_at timestamptz, args jsonb NOT NULL DEFAULT '[]', data jsonb NOT NULL DEFAULT '{}', job_schema_version int NOT NULL DEFAULT 2, kwargs jsonb NOT NULL DEFAULT '{}');
-- all: job_class='MailJob'
-- done: run_at=@-2h finished_at=@-2h
-- failed: run_at=@-1h expired_at=@-1h error_count=15 last_error_message='timeout'
-- stuck: run_at=@-3h
-- running: run_at=@-1m
-- late: run_at=@-40m
-- later: run_at=@+1d

-- delayed.delayed_jobs
CREATE TABLE delayed_jobs (id bigserial PRIMARY KEY, priority int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, handler text NOT NULL, last_error text, run_at timestamp, locked_at timestamp, failed_at timestamp, locked_by varchar, queue varchar, created_at timestamp, updated_at timestamp);
-- all: handler='--- !ruby/object:Mail' created_at=@-1d
-- failed: attempts=25 last_error='timeout' failed_at=@-1h run_at=@-1h
-- stuck: locked_at=@-3h locked_by='host:a pid:1' run_at=@-3h
-- running: locked_at=@-1m locked_by='host:a pid:2' run_at=@-1m
-- late: run_at=@-40m
-- later: run_at=@+1d

-- laravel.jobs
CREATE TABLE jobs (id bigserial PRIMARY KEY, queue varchar(255) NOT NULL, payload text NOT NULL, attempts int2 NOT NULL, reserved_at int, available_at int NOT NULL, created_at int NOT NULL);
-- all: queue='default' payload='{}' created_at=@s-1d
-- stuck: attempts=1 reserved_at=@s-3h available_at=@s-3h
-- running: attempts=1 reserved_at=@s-1m available_at=@s-1m
-- late: attempts=0 available_at=@s-40m
-- later: attempts=0 available_at=@s+1d

-- symfony.messenger_messages
CREATE TABLE messenger_messages (id bigserial PRIMARY KEY, body text NOT NULL, headers text NOT NULL, queue_name varchar(190) NOT NULL, created_at timestamp NOT NULL, available_at timestamp NOT NULL, delivered_at timestamp);
-- all: body='{}' headers='[]' queue_name='default' created_at=@-1d
-- stuck: available_at=@-3h delivered_at=@-3h
-- running: available_at=@-1m delivered_at=@-1m
-- late: available_at=@-40m
-- later: available_at=@+1d

-- dbscheduler.scheduled_tasks
CREATE TABLE scheduled_tasks (task_name text NOT NULL, task_instance text NOT NULL, task_data bytea, execution_time timestamptz NOT NULL, picked bool NOT NULL, picked_by text, last_success timestamptz, last_failure timestamptz, consecutive_failures int, last_heartbeat timestamptz, version int8 NOT NULL DEFAULT 1, priority int2, PRIMARY KEY (task_name, task_instance));
-- all: task_name='mail' task_instance='m'||n task_data='x'
-- stuck: execution_time=@-3h picked=true picked_by='a' last_heartbeat=@-3h
-- running: execution_time=@-1m picked=true picked_by='b' last_heartbeat=@-1m
-- late: execution_time=@-40m picked=false
-- later: execution_time=@+1d picked=false

-- quartz.qrtz_triggers
CREATE TABLE qrtz_triggers (sched_name varchar(120) NOT NULL, trigger_name varchar(200) NOT NULL, trigger_group varchar(200) NOT NULL, job_name varchar(200) NOT NULL, job_group varchar(200) NOT NULL, description varchar(250), next_fire_time int8, prev_fire_time int8, priority int, trigger_state varchar(16) NOT NULL, trigger_type varchar(8) NOT NULL, start_time int8 NOT NULL, end_time int8, calendar_name varchar(200), misfire_instr int2, job_data bytea, PRIMARY KEY (sched_name, trigger_name, trigger_group));
-- all: sched_name='s' trigger_name='t'||n trigger_group='DEFAULT' job_name='mail' job_group='DEFAULT' trigger_type='SIMPLE' start_time=@ms-1d job_data=''
-- failed: trigger_state='ERROR' next_fire_time=@ms-1h
-- stuck: trigger_state='ACQUIRED' next_fire_time=@ms-3h
-- running: trigger_state='ACQUIRED' next_fire_time=@ms-1m
-- late: trigger_state='WAITING' next_fire_time=@ms-40m
-- later: trigger_state='WAITING' next_fire_time=@ms+1d

-- jobrunr.jobrunr_jobs
CREATE TABLE jobrunr_jobs (id char(36) PRIMARY KEY, version int NOT NULL, jobasjson text NOT NULL, jobsignature varchar(512) NOT NULL, state varchar(36) NOT NULL, createdat timestamp NOT NULL, updatedat timestamp NOT NULL, scheduledat timestamp, recurringjobid varchar(128));
-- all: id=gen_random_uuid()::text version=1 jobsignature='Mail.send()' createdat=@-1d
-- done: state='SUCCEEDED' updatedat=@-2h jobasjson='{"state": "SUCCEEDED"}'
-- failed: state='FAILED' updatedat=@-1h jobasjson='{"state": "FAILED"}'
-- stuck: state='PROCESSING' updatedat=@-3h jobasjson='{"state": "PROCESSING"}'
-- running: state='PROCESSING' updatedat=@-1m jobasjson='{"state": "PROCESSING"}'
-- late: state='ENQUEUED' updatedat=@-40m jobasjson='{"state": "ENQUEUED"}'
-- later: state='SCHEDULED' scheduledat=@+1d updatedat=@-1h jobasjson='{"state": "SCHEDULED"}'

-- hangfire.job
CREATE TABLE job (id bigserial PRIMARY KEY, stateid int8, statename text, invocationdata jsonb NOT NULL, arguments jsonb NOT NULL, createdat timestamptz NOT NULL, expireat timestamptz, updatecount int NOT NULL DEFAULT 0);
-- all: invocationdata='{}' arguments='[]' createdat=@-1d stateid=i
-- done: statename='Succeeded' expireat=@+1d
-- failed: statename='Failed'
-- stuck: statename='Processing'
-- running: statename='Processing'
-- late: statename='Enqueued'
-- later: statename='Scheduled'

-- dbos.workflow_status
CREATE TABLE workflow_status (workflow_uuid text PRIMARY KEY, status text, name text, authenticated_user text, inputs text, output text, error text, executor_id text, created_at int8 NOT NULL, updated_at int8 NOT NULL, application_version text, recovery_attempts int8 DEFAULT 0, queue_name text, workflow_timeout_ms int8, started_at_epoch_ms int8, priority int NOT NULL DEFAULT 0, parent_workflow_id text);
-- all: workflow_uuid=gen_random_uuid()::text name='mail' inputs='{}' created_at=@ms-1d updated_at=@ms-1h queue_name='q'
-- done: status='SUCCESS' executor_id='e1' started_at_epoch_ms=@ms-2h output='{}'
-- failed: status='ERROR' executor_id='e1' started_at_epoch_ms=@ms-1h error='timeout'
-- stuck: status='PENDING' executor_id='e1' started_at_epoch_ms=@ms-3h
-- running: status='PENDING' executor_id='e2' started_at_epoch_ms=@ms-1m
-- late: status='ENQUEUED'

-- odoo.queue_job
CREATE TABLE queue_job (id serial PRIMARY KEY, uuid varchar NOT NULL, name varchar, state varchar, priority int, exc_name varchar, exc_message varchar, exc_info text, company_id int, model_name varchar, method_name varchar, args text, kwargs text, user_id int, date_created timestamp, date_enqueued timestamp, date_started timestamp, date_done timestamp, eta timestamp, retry int, max_retries int, channel varchar, identity_key varchar, worker_pid int);
-- all: uuid=gen_random_uuid()::text name='mail' model_name='res.partner' method_name='send' args='[]' date_created=@-1d max_retries=5 channel='root' retry=0
-- done: state='done' date_enqueued=@-2h date_started=@-2h date_done=@-2h worker_pid=7
-- failed: state='failed' date_enqueued=@-1h date_started=@-1h date_done=@-1h exc_info='Traceback' exc_name='Timeout' retry=5 worker_pid=7
-- stuck: state='started' date_enqueued=@-3h date_started=@-3h worker_pid=7
-- running: state='started' date_enqueued=@-1m date_started=@-1m worker_pid=8
-- late: state='pending' eta=@-40m
-- later: state='pending' eta=@+1d

-- celery.celery_taskmeta
CREATE TABLE celery_taskmeta (id int PRIMARY KEY, task_id varchar(155) UNIQUE, status varchar(50), result bytea, date_done timestamp, traceback text, name varchar(155), args bytea, kwargs bytea, worker varchar(155), retries int, queue varchar(155));
-- all: id=n task_id=gen_random_uuid()::text name='mail' args='' worker='w1' queue='celery' retries=0
-- done: status='SUCCESS' date_done=@-2h result='x'
-- failed: status='FAILURE' date_done=@-1h traceback='Traceback'
-- running: status='STARTED' date_done=@-1m

-- djangotasks.django_tasks_database_dbtaskresult
CREATE TABLE django_tasks_database_dbtaskresult (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), status varchar(10) NOT NULL, enqueued_at timestamptz NOT NULL, finished_at timestamptz, args_kwargs jsonb NOT NULL, priority int NOT NULL, task_path text NOT NULL, queue_name varchar(32) NOT NULL, backend_name varchar(32) NOT NULL, run_after timestamptz, return_value jsonb, exception_class_path text NOT NULL, traceback text NOT NULL, started_at timestamptz, worker_ids jsonb NOT NULL);
-- all: args_kwargs='{}' priority=0 task_path='mail.send' queue_name='default' backend_name='default' enqueued_at=@-1d
-- done: status='SUCCEEDED' started_at=@-2h finished_at=@-2h exception_class_path='' traceback='' worker_ids='["w"]'
-- failed: status='FAILED' started_at=@-1h finished_at=@-1h exception_class_path='Timeout' traceback='Traceback' worker_ids='["w"]'
-- stuck: status='RUNNING' started_at=@-3h exception_class_path='' traceback='' worker_ids='["w"]'
-- running: status='RUNNING' started_at=@-1m exception_class_path='' traceback='' worker_ids='["v"]'
-- late: status='READY' run_after=@-40m exception_class_path='' traceback='' worker_ids='[]'
-- later: status='READY' run_after=@+1d exception_class_path='' traceback='' worker_ids='[]'

-- minion.minion_jobs
CREATE TABLE minion_jobs (id bigserial PRIMARY KEY, args jsonb NOT NULL, attempts int NOT NULL DEFAULT 1, created timestamptz NOT NULL DEFAULT now(), delayed timestamptz NOT NULL, finished timestamptz, notes jsonb NOT NULL DEFAULT '{}', parents int8[] NOT NULL DEFAULT '{}', priority int NOT NULL, queue text NOT NULL DEFAULT 'default', result jsonb, retried timestamptz, retries int NOT NULL DEFAULT 0, started timestamptz, state text NOT NULL DEFAULT 'inactive', task text NOT NULL, worker int8, expires timestamptz, lax bool NOT NULL DEFAULT false);
-- all: args='[]' priority=0 task='mail'
-- done: delayed=@-2h started=@-2h finished=@-2h state='finished' worker=1
-- failed: delayed=@-1h started=@-1h finished=@-1h state='failed' worker=1 result='"timeout"'
-- stuck: delayed=@-3h started=@-3h state='active' worker=1
-- running: delayed=@-1m started=@-1m state='active' worker=2
-- late: delayed=@-40m
-- later: delayed=@+1d

-- windmill.v2_job_queue
CREATE TABLE v2_job_queue (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), workspace_id varchar(50) NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, scheduled_for timestamptz NOT NULL, running bool NOT NULL DEFAULT false, canceled_by varchar(255), canceled_reason text, suspend int NOT NULL DEFAULT 0, worker varchar(255), priority int2, tag varchar(255) NOT NULL DEFAULT 'other');
-- all: workspace_id='main'
-- stuck: started_at=@-3h scheduled_for=@-3h running=true worker='w1'
-- running: started_at=@-1m scheduled_for=@-1m running=true worker='w2'
-- late: scheduled_for=@-40m
-- later: scheduled_for=@+1d

-- hasura.event_log
CREATE TABLE event_log (id text PRIMARY KEY DEFAULT gen_random_uuid()::text, schema_name text NOT NULL, table_name text NOT NULL, trigger_name text NOT NULL, payload jsonb NOT NULL, delivered bool NOT NULL DEFAULT false, error bool NOT NULL DEFAULT false, tries int NOT NULL DEFAULT 0, created_at timestamp DEFAULT now(), locked timestamptz, next_retry_at timestamp, archived bool NOT NULL DEFAULT false);
-- all: schema_name='public' table_name='users' trigger_name='mail' payload='{}'
-- done: delivered=true tries=1
-- failed: error=true tries=5
-- stuck: locked=@-3h
-- running: locked=@-1m
-- late: created_at=@-40m
-- later: next_retry_at=@+1d tries=1

-- pgmq.q_mail
CREATE TABLE q_mail (msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, read_ct int NOT NULL DEFAULT 0, enqueued_at timestamptz NOT NULL DEFAULT now(), last_read_at timestamptz, vt timestamptz NOT NULL, message jsonb, headers jsonb);
-- all: message='{}'
-- stuck: vt=@-3h read_ct=3
-- late: vt=@-40m
-- later: vt=@+1d

-- n8n.execution_entity
CREATE TABLE execution_entity (id serial PRIMARY KEY, finished bool NOT NULL, mode varchar NOT NULL, "retryOf" varchar, "retrySuccessId" varchar, "startedAt" timestamptz, "stoppedAt" timestamptz, "waitTill" timestamptz, status varchar NOT NULL, "workflowId" varchar(36) NOT NULL, "deletedAt" timestamptz, "createdAt" timestamptz NOT NULL DEFAULT now());
-- all: mode='trigger' "workflowId"='w'
-- done: status='success' finished=true "startedAt"=@-2h "stoppedAt"=@-2h
-- failed: status='error' finished=false "startedAt"=@-1h "stoppedAt"=@-1h
-- stuck: status='running' finished=false "startedAt"=@-3h
-- running: status='running' finished=false "startedAt"=@-1m
-- late: status='new' finished=false
-- later: status='waiting' finished=false "startedAt"=@-1h "waitTill"=@+1d

-- nextcloud.oc_jobs
CREATE TABLE oc_jobs (id bigint PRIMARY KEY, class varchar(255) NOT NULL DEFAULT '', argument varchar(4000) NOT NULL DEFAULT '', last_run int DEFAULT 0, last_checked int DEFAULT 0, reserved_at int DEFAULT 0, execution_duration int DEFAULT 0, argument_hash varchar(64), time_sensitive int2 NOT NULL DEFAULT 1);
-- all: id=n class='Mail'
-- stuck: reserved_at=@s-3h last_run=@s-1d last_checked=@s-3h
-- running: reserved_at=@s-1m last_run=@s-1d last_checked=@s-1m
-- late: last_run=@s-1d last_checked=@s-40m

-- camunda.act_ru_job
CREATE TABLE act_ru_job (id_ varchar(64) PRIMARY KEY, rev_ int, type_ varchar(255) NOT NULL, lock_exp_time_ timestamp, lock_owner_ varchar(255), exclusive_ bool, execution_id_ varchar(64), process_instance_id_ varchar(64), retries_ int, exception_stack_id_ varchar(64), exception_msg_ varchar(4000), duedate_ timestamp, handler_type_ varchar(255), handler_cfg_ varchar(4000), create_time_ timestamp);
-- all: id_=n::text type_='message' rev_=1 handler_type_='mail'
-- failed: retries_=0 exception_msg_='timeout' exception_stack_id_='x'
-- stuck: retries_=3 lock_owner_='a' lock_exp_time_=@-3h duedate_=@-3h
-- running: retries_=3 lock_owner_='b' lock_exp_time_=@+5m duedate_=@-1m
-- late: retries_=3 duedate_=@-40m
-- later: retries_=3 duedate_=@+1d

-- peertube.runnerJob
CREATE TABLE "runnerJob" (id serial PRIMARY KEY, uuid uuid NOT NULL DEFAULT gen_random_uuid(), type varchar(255) NOT NULL, payload jsonb NOT NULL, "privatePayload" jsonb NOT NULL, state int NOT NULL, failures int NOT NULL DEFAULT 0, error text, priority int NOT NULL, "processingJobToken" varchar(255), progress int, "startedAt" timestamptz, "finishedAt" timestamptz, "runnerId" int, "createdAt" timestamptz NOT NULL DEFAULT now(), "updatedAt" timestamptz NOT NULL DEFAULT now());
-- all: type='vod' payload='{}' "privatePayload"='{}' priority=0
-- done: state=3 "startedAt"=@-2h "finishedAt"=@-2h "runnerId"=1
-- failed: state=4 "startedAt"=@-1h "finishedAt"=@-1h error='timeout' failures=5 "runnerId"=1
-- stuck: state=2 "startedAt"=@-3h "runnerId"=1 "processingJobToken"='t1' "updatedAt"=@-3h
-- running: state=2 "startedAt"=@-1m "runnerId"=1 "processingJobToken"='t2'
-- late: state=1 "createdAt"=@-40m

-- home1.email_outbox
CREATE TABLE email_outbox (id bigserial PRIMARY KEY, recipient text NOT NULL, subject text, body text, status text NOT NULL DEFAULT 'new', send_after timestamptz NOT NULL DEFAULT now(), picked_by text, picked_at timestamptz, tries int NOT NULL DEFAULT 0, last_error text, sent_at timestamptz);
-- all: recipient='a@b.c' subject='hi'
-- done: status='sent' sent_at=@-2h picked_by='w' picked_at=@-2h
-- failed: status='bounced' last_error='no such user' tries=5 picked_by='w' picked_at=@-1h
-- stuck: status='sending' picked_by='w1' picked_at=@-3h send_after=@-3h
-- running: status='sending' picked_by='w2' picked_at=@-1m send_after=@-1m
-- late: send_after=@-40m
-- later: send_after=@+1d

-- home2.tasks
CREATE TABLE tasks (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), type text NOT NULL, payload jsonb, state int2 NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), worker_id text, started_at timestamptz, finished_at timestamptz, attempts int NOT NULL DEFAULT 0, error text);
-- all: type='thumbnail' payload='{}'
-- done: state=2 worker_id='w' started_at=@-2h finished_at=@-2h
-- failed: state=3 worker_id='w' started_at=@-1h finished_at=@-1h error='bad file' attempts=3
-- stuck: state=1 worker_id='w1' started_at=@-3h run_at=@-3h
-- running: state=1 worker_id='w2' started_at=@-1m run_at=@-1m
-- late: run_at=@-40m
-- later: run_at=@+1d

-- home3.sync_requests
CREATE TABLE sync_requests (account_id int NOT NULL, seq int NOT NULL, request jsonb, next_attempt_at timestamptz DEFAULT now(), claimed_until timestamptz, claimed_by text NOT NULL DEFAULT '', retry_count int NOT NULL DEFAULT 0, completed_at timestamptz, last_error text, PRIMARY KEY (account_id, seq));
-- all: account_id=7 seq=n request='{}'
-- done: completed_at=@-2h
-- stuck: claimed_by='w1' claimed_until=@-3h next_attempt_at=@-3h
-- running: claimed_by='w2' claimed_until=@+5m next_attempt_at=@-1m
-- late: next_attempt_at=@-40m
-- later: next_attempt_at=@+1d last_error='timeout' retry_count=1

-- home4.pdf_exports
CREATE TABLE pdf_exports (id serial PRIMARY KEY, document_id int, params json, processing bool NOT NULL DEFAULT false, done bool NOT NULL DEFAULT false, failed bool NOT NULL DEFAULT false, attempts int NOT NULL DEFAULT 0, locked_at timestamp, error text, created_at timestamp NOT NULL DEFAULT now());
-- all: document_id=1 params='{}'
-- done: done=true attempts=1
-- failed: failed=true error='bad file' attempts=3
-- stuck: processing=true locked_at=@-3h attempts=1
-- running: processing=true locked_at=@-1m attempts=1
-- late: created_at=@-40m

-- home5.webhook_deliveries
CREATE TABLE webhook_deliveries (id bigserial PRIMARY KEY, endpoint text, payload jsonb, status varchar(20) NOT NULL DEFAULT 'pending', attempt_count int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 8, next_attempt_at timestamptz, last_attempt_at timestamptz, response_code int, error_message text, delivered_at timestamptz, locked_by text, locked_until timestamptz);
-- all: endpoint='https://x' payload='{}'
-- done: status='delivered' delivered_at=@-2h attempt_count=1
-- failed: status='dead' error_message='500' attempt_count=8
-- stuck: status='in_flight' locked_by='w1' locked_until=@-3h next_attempt_at=@-3h
-- running: status='in_flight' locked_by='w2' locked_until=@+5m next_attempt_at=@-1m
-- late: next_attempt_at=@-40m
-- later: next_attempt_at=@+1d status='retrying' attempt_count=1 error_message='500'

-- home6.ImportQueue
CREATE TABLE "ImportQueue" ("Id" serial PRIMARY KEY, "FileName" text, "StatusName" text NOT NULL, "CreatedAt" timestamp NOT NULL DEFAULT now(), "LockedBy" text, "LockExpiresAt" timestamp, "RetriesLeft" int NOT NULL DEFAULT 3, "ErrorMessage" text, "JobData" jsonb);
-- all: "FileName"='a.csv' "JobData"='{}'
-- done: "StatusName"='Completed'
-- failed: "StatusName"='Failed' "ErrorMessage"='bad' "RetriesLeft"=0
-- stuck: "StatusName"='InProgress' "LockedBy"='w1' "LockExpiresAt"=@-3h
-- running: "StatusName"='InProgress' "LockedBy"='w2' "LockExpiresAt"=@+5m
-- late: "StatusName"='Queued' "CreatedAt"=@-40m

-- home7.etl_runs
CREATE TABLE etl_runs (run_id bigserial PRIMARY KEY, parent_run_id int8 REFERENCES etl_runs, step text, run_state text NOT NULL CHECK (run_state IN ('queued', 'running', 'ok', 'failed')), queued_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, heartbeat_at timestamptz, ended_at timestamptz, host text, exception text);
-- all: step='load'
-- done: run_state='ok' started_at=@-2h ended_at=@-2h heartbeat_at=@-2h host='a'
-- failed: run_state='failed' started_at=@-1h ended_at=@-1h heartbeat_at=@-1h host='a' exception='ValueError'
-- stuck: run_state='running' started_at=@-3h heartbeat_at=@-3h host='a'
-- running: run_state='running' started_at=@-3h heartbeat_at=@-1m host='b'
-- late: run_state='queued' queued_at=@-40m

-- home8.sms_queue
CREATE TABLE sms_queue (id serial PRIMARY KEY, phone text NOT NULL, message text NOT NULL, queued_at timestamptz NOT NULL DEFAULT now(), taken_at timestamptz NOT NULL DEFAULT 'epoch', taken_by int NOT NULL DEFAULT -1, sent_at timestamptz, failed_at timestamptz, fail_reason text, tries int2 NOT NULL DEFAULT 0);
-- all: phone='+1' message='hi'
-- done: taken_at=@-2h taken_by=1 sent_at=@-2h
-- failed: failed_at=@-1h fail_reason='no route' tries=3
-- stuck: taken_at=@-3h taken_by=1
-- running: taken_at=@-1m taken_by=2
-- late: queued_at=@-40m

-- home9.crawl_queue
CREATE TABLE crawl_queue (url text PRIMARY KEY, status text NOT NULL DEFAULT 'todo', fetch_after timestamptz, crawler text, fetch_started timestamptz, retries int NOT NULL DEFAULT 0, http_error text);
-- all: url='https://x/'||n
-- done: status='fetched' retries=0
-- failed: status='error' http_error='404' retries=3
-- stuck: status='fetching' crawler='c1' fetch_started=@-3h fetch_after=@-3h
-- running: status='fetching' crawler='c2' fetch_started=@-1m fetch_after=@-1m
-- late: fetch_after=@-40m
-- later: fetch_after=@+1d

-- home10.jobs_to_run
CREATE TABLE jobs_to_run (id bigserial PRIMARY KEY, command text NOT NULL, scheduled timestamptz NOT NULL DEFAULT now(), pid int, started timestamptz, ended timestamptz, exit_code int, stderr text);
-- all: command='/bin/mail'
-- done: scheduled=@-2h pid=1 started=@-2h ended=@-2h exit_code=0
-- failed: scheduled=@-1h pid=1 started=@-1h ended=@-1h exit_code=1 stderr='oops'
-- stuck: scheduled=@-3h pid=1 started=@-3h
-- running: scheduled=@-1m pid=2 started=@-1m
-- late: scheduled=@-40m
-- later: scheduled=@+1d

-- graphile.jobs
CREATE TABLE jobs (id bigserial PRIMARY KEY, queue_name text, task_identifier text NOT NULL, payload json NOT NULL DEFAULT '{}', priority int NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 25, last_error text, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(), key text, locked_at timestamptz, locked_by text, revision int NOT NULL DEFAULT 0, flags jsonb);
-- all: task_identifier='mail'
-- failed: run_at=@-1h attempts=25 last_error='timeout'
-- stuck: run_at=@-3h attempts=1 locked_at=@-3h locked_by='worker-1'
-- running: run_at=@-1m attempts=1 locked_at=@-1m locked_by='worker-2'
-- late: run_at=@-40m
-- later: run_at=@+1d
-- claim: locked_at IS NULL AND run_at <= now() AND attempts < max_attempts

-- absurd.r_default
CREATE TABLE r_default (run_id uuid PRIMARY KEY, task_id uuid NOT NULL, attempt int NOT NULL, state text NOT NULL CHECK (state IN ('pending', 'running', 'sleeping', 'completed', 'failed', 'cancelled')), claimed_by text, claim_expires_at timestamptz, available_at timestamptz NOT NULL, wake_event text, event_payload jsonb, started_at timestamptz, completed_at timestamptz, failed_at timestamptz, result jsonb, failure_reason jsonb, created_at timestamptz NOT NULL DEFAULT now());
-- all: run_id=gen_random_uuid() task_id=gen_random_uuid() attempt=1
-- done: state='completed' claimed_by='w1' claim_expires_at=@-2h available_at=@-2h started_at=@-2h completed_at=@-2h
-- failed: state='failed' claimed_by='w1' claim_expires_at=@-1h available_at=@-1h started_at=@-1h failed_at=@-1h failure_reason='{"message":"timeout"}'
-- stuck: state='running' claimed_by='w1' claim_expires_at=@-3h available_at=@-3h started_at=@-3h
-- running: state='running' claimed_by='w2' claim_expires_at=@+5m available_at=@-1m started_at=@-1m
-- late: state='pending' available_at=@-40m
-- later: state='sleeping' available_at=@+1d
-- claim: state IN ('pending', 'sleeping') AND available_at <= now()

-- airflow.task_instance
CREATE TABLE task_instance (task_id varchar(250) NOT NULL, dag_id varchar(250) NOT NULL, run_id varchar(250) NOT NULL, map_index int NOT NULL DEFAULT -1, start_date timestamptz, end_date timestamptz, duration float8, state varchar(20), try_number int, max_tries int DEFAULT -1, hostname varchar(1000), unixname varchar(1000), job_id int, pool varchar(256) NOT NULL, pool_slots int NOT NULL, queue varchar(256), priority_weight int, operator varchar(1000), queued_dttm timestamptz, queued_by_job_id int, pid int, executor_config bytea, updated_at timestamptz, PRIMARY KEY (dag_id, task_id, run_id, map_index));
-- all: dag_id='etl' task_id='load' run_id='r'||n pool='default' pool_slots=1 operator='PythonOperator'
-- done: state='success' start_date=@-2h end_date=@-2h hostname='h1' pid=7 try_number=1
-- failed: state='failed' start_date=@-1h end_date=@-1h hostname='h1' pid=7 try_number=3
-- stuck: state='running' start_date=@-3h hostname='h1' pid=7 try_number=1
-- running: state='running' start_date=@-1m hostname='h2' pid=9 try_number=1
-- late: state='scheduled' try_number=0
-- later: state='up_for_retry' start_date=@-1m end_date=@-1m try_number=1
-- claim: state = 'scheduled'

-- dagster.runs
CREATE TABLE runs (id bigserial PRIMARY KEY, run_id varchar(255) UNIQUE, snapshot_id varchar(255), pipeline_name text, mode text, status varchar(63), run_body text, partition text, partition_set text, create_timestamp timestamp DEFAULT now(), update_timestamp timestamp DEFAULT now(), start_time float8, end_time float8);
-- all: run_id=(n)::text pipeline_name='etl'
-- done: status='SUCCESS' run_body='{"status":"SUCCESS"}' start_time=@f-2h end_time=@f-116m
-- failed: status='FAILURE' run_body='{"status":"FAILURE"}' start_time=@f-1h end_time=@f-58m
-- stuck: status='STARTED' run_body='{"status":"STARTED"}' start_time=@f-3h
-- running: status='STARTED' run_body='{"status":"STARTED"}' start_time=@f-1m
-- late: status='QUEUED' run_body='{"status":"QUEUED"}' create_timestamp=@-40m
-- claim: status = 'QUEUED'

-- mattermost.jobs
CREATE TABLE jobs (id varchar(26) PRIMARY KEY, type varchar(32), priority int8, createat int8, startat int8, lastactivityat int8, status varchar(32), progress int8, data jsonb);
-- all: id=lpad(n::text,26,'a') type='export' priority=0 createat=@ms-2h data='{}'
-- done: status='success' startat=@ms-2h lastactivityat=@ms-2h progress=100
-- failed: status='error' startat=@ms-1h lastactivityat=@ms-1h progress=10
-- stuck: status='in_progress' startat=@ms-3h lastactivityat=@ms-3h progress=0
-- running: status='in_progress' startat=@ms-1m lastactivityat=@ms-1m progress=0
-- late: status='pending' startat=0 lastactivityat=0 progress=0
-- claim: status = 'pending' AND startat = 0

-- yii.queue
CREATE TABLE queue (id bigserial PRIMARY KEY, channel varchar(255) NOT NULL, job bytea NOT NULL, pushed_at int NOT NULL, ttr int NOT NULL, delay int NOT NULL DEFAULT 0, priority int NOT NULL DEFAULT 1024, reserved_at int, attempt int, done_at int);
-- all: channel='default' job='x' ttr=300
-- done: pushed_at=@s-2h reserved_at=@s-2h attempt=1 done_at=@s-2h
-- stuck: pushed_at=@s-3h reserved_at=@s-3h attempt=1
-- running: pushed_at=@s-1m reserved_at=@s-1m attempt=1
-- late: pushed_at=@s-40m
-- claim: reserved_at IS NULL AND pushed_at <= extract(epoch FROM now()) - delay

-- conductor.queue_message
CREATE TABLE queue_message (id serial, created_on timestamp NOT NULL DEFAULT now(), deliver_on timestamp NOT NULL DEFAULT now(), queue_name varchar(255) NOT NULL, message_id varchar(255) NOT NULL, priority int NOT NULL DEFAULT 0, popped bool DEFAULT false, offset_time_seconds int8, payload text, PRIMARY KEY (queue_name, message_id));
-- all: queue_name='mail' message_id='m'||n offset_time_seconds=0 payload='{}'
-- stuck: deliver_on=@-3h popped=true
-- running: deliver_on=@-1m popped=true
-- late: deliver_on=@-40m
-- later: deliver_on=@+1d
-- claim: NOT popped AND deliver_on <= now()

-- calcom.Task
CREATE TABLE "Task" (id text PRIMARY KEY, "createdAt" timestamp NOT NULL DEFAULT now(), "updatedAt" timestamp NOT NULL DEFAULT now(), "scheduledAt" timestamp NOT NULL DEFAULT now(), "succeededAt" timestamp, type text NOT NULL, payload text NOT NULL, attempts int NOT NULL DEFAULT 0, "maxAttempts" int NOT NULL DEFAULT 3, "lastError" text, "lastFailedAttemptAt" timestamp, "referenceUid" text);
-- all: id='c'||n type='sendWebhook' payload='{}'
-- done: "scheduledAt"=@-2h "succeededAt"=@-2h attempts=1
-- failed: "scheduledAt"=@-1h attempts=3 "lastError"='timeout' "lastFailedAttemptAt"=@-1h
-- late: "scheduledAt"=@-40m
-- later: "scheduledAt"=@+1d
-- claim: "succeededAt" IS NULL AND "scheduledAt" < now() AND attempts < "maxAttempts"

-- payloadcms.payload_jobs
CREATE TABLE payload_jobs (id serial PRIMARY KEY, input jsonb, completed_at timestamptz, total_tried numeric DEFAULT 0, has_error bool DEFAULT false, error jsonb, task_slug varchar, queue varchar DEFAULT 'default', wait_until timestamptz, processing bool DEFAULT false, updated_at timestamptz NOT NULL DEFAULT now(), created_at timestamptz NOT NULL DEFAULT now());
-- all: input='{}' task_slug='mail'
-- done: completed_at=@-2h total_tried=1
-- failed: has_error=true error='{"message":"timeout"}' total_tried=3
-- stuck: processing=true updated_at=@-3h
-- running: processing=true updated_at=@-1m
-- late: created_at=@-40m wait_until=@-40m
-- later: wait_until=@+1d
-- claim: completed_at IS NULL AND has_error IS NOT TRUE AND NOT processing AND (wait_until IS NULL OR wait_until < now())

-- fang.fang_tasks
CREATE TYPE fang_task_state AS ENUM ('new', 'in_progress', 'failed', 'finished', 'retried');
CREATE TABLE fang_tasks (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), metadata jsonb NOT NULL, error_message text, state fang_task_state NOT NULL DEFAULT 'new', task_type varchar NOT NULL DEFAULT 'common', uniq_hash char(64), retries int NOT NULL DEFAULT 0, scheduled_at timestamptz NOT NULL DEFAULT now(), created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
-- all: metadata='{"type":"MyTask"}'
-- done: state='finished' scheduled_at=@-2h updated_at=@-2h
-- failed: state='failed' scheduled_at=@-1h updated_at=@-1h error_message='timeout' retries=20
-- stuck: state='in_progress' scheduled_at=@-3h updated_at=@-3h
-- running: state='in_progress' scheduled_at=@-1m updated_at=@-1m
-- late: scheduled_at=@-40m
-- later: scheduled_at=@+1d
-- claim: state IN ('new', 'retried') AND scheduled_at <= now()

-- gopgq.mail_queue
CREATE TABLE mail_queue (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, locked_until timestamptz, scheduled_for timestamptz, processed_at timestamptz, consumed_count int NOT NULL DEFAULT 0, error_detail text, payload jsonb NOT NULL, metadata jsonb NOT NULL DEFAULT '{}');
-- all: payload='{}'
-- done: started_at=@-2h locked_until=@-2h processed_at=@-2h consumed_count=1 scheduled_for=@-3h
-- stuck: started_at=@-3h locked_until=@-2h consumed_count=1 scheduled_for=@-3h
-- running: started_at=@-1m locked_until=@+5m consumed_count=1 scheduled_for=@-1m
-- late: scheduled_for=@-40m
-- later: scheduled_for=@+1d
-- claim: (locked_until IS NULL OR locked_until < now()) AND consumed_count < 3 AND processed_at IS NULL AND (scheduled_for IS NULL OR scheduled_for <= now())

-- rihanna.rihanna_jobs
CREATE TABLE rihanna_jobs (id serial PRIMARY KEY, term bytea NOT NULL, priority int NOT NULL DEFAULT 50, enqueued_at timestamptz NOT NULL, due_at timestamptz, failed_at timestamptz, fail_reason text, rihanna_internal_meta jsonb NOT NULL DEFAULT '{}');
-- all: term='x' enqueued_at=@-3h
-- failed: failed_at=@-1h fail_reason='timeout'
-- late: due_at=@-40m
-- later: due_at=@+1d
-- claim: failed_at IS NULL AND (due_at IS NULL OR due_at <= now())

-- oddjobs.jobs
CREATE TABLE jobs (id serial PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(), run_at timestamptz NOT NULL DEFAULT now(), status text NOT NULL, payload jsonb NOT NULL, last_error jsonb, attempts int NOT NULL DEFAULT 0, locked_at timestamptz, locked_by text, CONSTRAINT incorrect_locking_info CHECK ((locked_at IS NULL AND locked_by IS NULL AND status <> 'locked') OR (locked_at IS NOT NULL AND locked_by IS NOT NULL AND status = 'locked')));
-- all: payload='{}'
-- done: status='success' run_at=@-2h updated_at=@-2h attempts=1
-- failed: status='failed' run_at=@-1h updated_at=@-1h last_error='"boom"' attempts=10
-- stuck: status='locked' run_at=@-3h locked_at=@-3h locked_by='host1' attempts=1
-- running: status='locked' run_at=@-1m locked_at=@-1m locked_by='host2' attempts=1
-- late: status='queued' run_at=@-40m
-- later: status='retry' run_at=@+1d attempts=2 last_error='"boom"'
-- claim: status IN ('queued', 'retry') AND run_at <= now()

-- tryton.ir_queue
CREATE TABLE ir_queue (id serial PRIMARY KEY, name varchar NOT NULL, data json, enqueued_at timestamp NOT NULL, dequeued_at timestamp, finished_at timestamp, scheduled_at timestamp, expected_at timestamp, create_date timestamp, write_date timestamp, create_uid int, write_uid int);
-- all: name='q' data='{}' enqueued_at=@-4h
-- done: scheduled_at=@-2h dequeued_at=@-2h finished_at=@-2h
-- stuck: scheduled_at=@-3h dequeued_at=@-3h
-- running: scheduled_at=@-1m dequeued_at=@-1m
-- late: scheduled_at=@-40m
-- later: scheduled_at=@+1d
-- claim: dequeued_at IS NULL AND (scheduled_at IS NULL OR scheduled_at <= now())

-- skiplock.jobs
CREATE TABLE jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), worker_id uuid, job_class varchar NOT NULL, queue_name varchar, locale varchar, timezone varchar, priority int, executions int, exceptions int, data jsonb, running bool NOT NULL DEFAULT false, expired_at timestamp, finished_at timestamp, scheduled_at timestamp, created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
-- all: job_class='MailJob' data='{}'
-- done: finished_at=@-2h scheduled_at=@-2h executions=1
-- failed: expired_at=@-1h scheduled_at=@-1h executions=20 exceptions=20
-- stuck: running=true worker_id='00000000-0000-4000-8000-000000000001' updated_at=@-3h scheduled_at=@-3h
-- running: running=true worker_id='00000000-0000-4000-8000-000000000002' updated_at=@-1m scheduled_at=@-1m
-- late: scheduled_at=@-40m
-- later: scheduled_at=@+1d
-- claim: NOT running AND expired_at IS NULL AND finished_at IS NULL AND (scheduled_at IS NULL OR scheduled_at <= now())

-- schwartz.job
CREATE TABLE job (jobid bigserial PRIMARY KEY, funcid int NOT NULL, arg bytea, uniqkey text, insert_time int, run_after int NOT NULL, grabbed_until int NOT NULL, priority int2, coalesce text);
-- all: funcid=1 arg='x' insert_time=@s-4h
-- stuck: run_after=@s-3h grabbed_until=@s-2h
-- running: run_after=@s-1m grabbed_until=@s+10m
-- late: run_after=@s-40m grabbed_until=0
-- later: run_after=@s+1d grabbed_until=0
-- claim: run_after <= extract(epoch FROM now()) AND grabbed_until <= extract(epoch FROM now())

-- home11.Jobs
CREATE TYPE "JobStatus" AS ENUM ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED');
CREATE TABLE "Jobs" ("jobId" uuid PRIMARY KEY DEFAULT gen_random_uuid(), "jobStatus" "JobStatus" NOT NULL DEFAULT 'PENDING', "queueName" text NOT NULL, "jobData" jsonb NOT NULL, "retryCount" int NOT NULL DEFAULT 0, "maxRetries" int NOT NULL DEFAULT 3, "runAfter" timestamp(3) NOT NULL DEFAULT now(), "startedAt" timestamp(3), "finishedAt" timestamp(3), "workerId" text, "lastHeartbeatAt" timestamp(3), "errorMessage" text, "createdAt" timestamp(3) NOT NULL DEFAULT now());
-- all: "queueName"='mail' "jobData"='{}'
-- done: "jobStatus"='COMPLETED' "startedAt"=@-2h "finishedAt"=@-2h "workerId"='w1' "runAfter"=@-2h
-- failed: "jobStatus"='FAILED' "startedAt"=@-1h "finishedAt"=@-1h "workerId"='w1' "runAfter"=@-1h "errorMessage"='timeout' "retryCount"=3
-- stuck: "jobStatus"='RUNNING' "startedAt"=@-3h "workerId"='w1' "runAfter"=@-3h "lastHeartbeatAt"=@-3h
-- running: "jobStatus"='RUNNING' "startedAt"=@-1m "workerId"='w2' "runAfter"=@-1m "lastHeartbeatAt"=@-1m
-- late: "runAfter"=@-40m
-- later: "runAfter"=@+1d
-- claim: "jobStatus" = 'PENDING' AND "workerId" IS NULL AND "runAfter" <= now()

-- home12.work_queue
CREATE TABLE work_queue (id bigserial PRIMARY KEY, kind int NOT NULL, body jsonb, is_locked bool NOT NULL DEFAULT false, is_done bool NOT NULL DEFAULT false, is_error bool NOT NULL DEFAULT false, locked_by text NOT NULL DEFAULT '', lock_expires timestamptz NOT NULL DEFAULT 'epoch', run_at timestamptz NOT NULL DEFAULT now(), retries_left int2 NOT NULL DEFAULT 5, message text);
-- all: kind=1 body='{}'
-- done: is_done=true run_at=@-2h
-- failed: is_error=true run_at=@-1h retries_left=0 message='timeout'
-- stuck: is_locked=true locked_by='w1' lock_expires=@-2h run_at=@-3h retries_left=4
-- running: is_locked=true locked_by='w2' lock_expires=@+10m run_at=@-1m retries_left=4
-- late: run_at=@-40m
-- later: run_at=@+1d
-- claim: NOT is_locked AND NOT is_done AND NOT is_error AND retries_left > 0 AND run_at <= now()

-- home15.t_job
CREATE TABLE t_job (c_id int8 PRIMARY KEY, c_type varchar(40), c_status varchar(20), c_create_time timestamp, c_start_time timestamp, c_end_time timestamp, c_exec_host varchar(60), c_retry_times int DEFAULT 0, c_param text, c_err_msg text);
-- all: c_id=n c_type='sync' c_param='{}' c_create_time=@-4h
-- done: c_status='SUCCESS' c_start_time=@-2h c_end_time=@-2h c_exec_host='h1'
-- failed: c_status='FAIL' c_start_time=@-1h c_end_time=@-1h c_exec_host='h1' c_retry_times=3 c_err_msg='timeout'
-- stuck: c_status='RUN' c_start_time=@-3h c_exec_host='h1'
-- running: c_status='RUN' c_start_time=@-1m c_exec_host='h2'
-- late: c_status='WAIT' c_create_time=@-40m
-- claim: c_status = 'WAIT' AND c_exec_host IS NULL

-- flowable.act_ru_timer_job
CREATE TABLE act_ru_timer_job (id_ varchar(64) PRIMARY KEY, rev_ int, category_ varchar(255), type_ varchar(255) NOT NULL, lock_exp_time_ timestamp, lock_owner_ varchar(255), exclusive_ bool, execution_id_ varchar(64), process_instance_id_ varchar(64), proc_def_id_ varchar(64), element_id_ varchar(255), retries_ int, exception_stack_id_ varchar(64), exception_msg_ varchar(4000), duedate_ timestamp, repeat_ varchar(255), handler_type_ varchar(255), handler_cfg_ varchar(4000), custom_values_id_ varchar(64), create_time_ timestamp, tenant_id_ varchar(255));
-- all: id_=(n)::text rev_=1 type_='timer' handler_type_='timer-start-event' handler_cfg_='{}' create_time_=@-4h retries_=3
-- stuck: lock_exp_time_=@-2h lock_owner_='w1' duedate_=@-3h
-- running: lock_exp_time_=@+5m lock_owner_='w2' duedate_=@-1m
-- late: duedate_=@-40m
-- later: duedate_=@+1d
-- claim: lock_exp_time_ IS NULL AND duedate_ <= now()

-- prefect.flow_run
CREATE TABLE flow_run (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created timestamptz NOT NULL DEFAULT now(), updated timestamptz NOT NULL DEFAULT now(), name varchar NOT NULL, state_type varchar(9), state_name varchar, state_timestamp timestamptz, run_count int NOT NULL DEFAULT 0, expected_start_time timestamptz, next_scheduled_start_time timestamptz, start_time timestamptz, end_time timestamptz, total_run_time interval NOT NULL DEFAULT '0', parameters json NOT NULL DEFAULT '{}', deployment_id uuid, infrastructure_pid varchar, parent_task_run_id uuid, work_queue_name varchar, tags json NOT NULL DEFAULT '[]');
-- all: name='a' work_queue_name='default'
-- done: state_type='COMPLETED' state_name='Completed' state_timestamp=@-2h expected_start_time=@-2h start_time=@-2h end_time=@-2h run_count=1
-- failed: state_type='FAILED' state_name='Failed' state_timestamp=@-1h expected_start_time=@-1h start_time=@-1h end_time=@-1h run_count=1
-- stuck: state_type='RUNNING' state_name='Running' state_timestamp=@-3h expected_start_time=@-3h start_time=@-3h run_count=1 infrastructure_pid='h:1'
-- running: state_type='RUNNING' state_name='Running' state_timestamp=@-1m expected_start_time=@-1m start_time=@-1m run_count=1 infrastructure_pid='h:2'
-- late: state_type='SCHEDULED' state_name='Late' state_timestamp=@-40m expected_start_time=@-40m next_scheduled_start_time=@-40m
-- later: state_type='SCHEDULED' state_name='Scheduled' state_timestamp=@-40m expected_start_time=@+1d next_scheduled_start_time=@+1d
-- claim: state_type = 'SCHEDULED' AND next_scheduled_start_time <= now() AND start_time IS NULL

-- cyclotron.cyclotron_jobs
CREATE TYPE jobstate AS ENUM ('available', 'completed', 'failed', 'running', 'paused');
CREATE TABLE cyclotron_jobs (id uuid PRIMARY KEY, team_id int NOT NULL, function_id uuid, created timestamptz NOT NULL, lock_id uuid, last_heartbeat timestamptz, janitor_touch_count int2 NOT NULL, transition_count int2 NOT NULL, last_transition timestamptz NOT NULL, queue_name text NOT NULL, state jobstate NOT NULL, priority int2 NOT NULL, scheduled timestamptz NOT NULL, vm_state bytea, metadata bytea, parameters bytea, blob bytea);
-- all: id=gen_random_uuid() team_id=1 created=@-4h janitor_touch_count=0 queue_name='fetch' priority=0
-- done: state='completed' transition_count=2 last_transition=@-2h scheduled=@-2h
-- failed: state='failed' transition_count=2 last_transition=@-1h scheduled=@-1h
-- stuck: state='running' transition_count=1 last_transition=@-3h scheduled=@-3h lock_id=gen_random_uuid() last_heartbeat=@-3h
-- running: state='running' transition_count=1 last_transition=@-1m scheduled=@-1m lock_id=gen_random_uuid() last_heartbeat=@-1m
-- late: state='available' transition_count=0 last_transition=@-40m scheduled=@-40m
-- later: state='available' transition_count=0 last_transition=@-40m scheduled=@+1d
-- claim: state = 'available' AND scheduled <= now() AND lock_id IS NULL

-- pulp.core_task
CREATE TABLE core_task (pulp_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), pulp_created timestamptz NOT NULL DEFAULT now(), pulp_last_updated timestamptz, state text NOT NULL, name text NOT NULL, started_at timestamptz, finished_at timestamptz, unblocked_at timestamptz, error jsonb, worker_id uuid, parent_task_id uuid REFERENCES core_task, logging_cid text NOT NULL DEFAULT '', enc_args bytea, app_lock_id uuid, immediate bool NOT NULL DEFAULT false);
-- all: name='sync'
-- done: state='completed' started_at=@-2h finished_at=@-2h unblocked_at=@-2h
-- failed: state='failed' started_at=@-1h finished_at=@-1h unblocked_at=@-1h error='{"description":"boom"}'
-- stuck: state='running' started_at=@-3h unblocked_at=@-3h app_lock_id='00000000-0000-4000-8000-000000000001'
-- running: state='running' started_at=@-1m unblocked_at=@-1m app_lock_id='00000000-0000-4000-8000-000000000002'
-- late: state='waiting' pulp_created=@-40m unblocked_at=@-40m
-- claim: state = 'waiting' AND app_lock_id IS NULL AND unblocked_at IS NOT NULL

-- quay.queueitem
CREATE TABLE queueitem (id serial PRIMARY KEY, queue_name varchar(1024) NOT NULL, body text NOT NULL, available_after timestamp NOT NULL, available bool NOT NULL, processing_expires timestamp, retries_remaining int NOT NULL, state_id varchar(255) NOT NULL);
-- all: queue_name='build' body='{}' state_id=(n)::text
-- failed: available_after=@-1h available=true retries_remaining=0
-- stuck: available_after=@-3h available=false processing_expires=@-2h retries_remaining=4
-- running: available_after=@-1m available=false processing_expires=@+1h retries_remaining=4
-- late: available_after=@-40m available=true retries_remaining=5
-- later: available_after=@+1d available=true retries_remaining=5
-- claim: available_after <= now() AND (available OR processing_expires <= now()) AND retries_remaining > 0

-- home16.simple_queue
CREATE TABLE simple_queue (id bigserial PRIMARY KEY, payload jsonb NOT NULL, status text NOT NULL DEFAULT 'new', created_at timestamptz NOT NULL DEFAULT now(), processed_at timestamptz, retry_count int NOT NULL DEFAULT 0, error text);
-- all: payload='{}'
-- done: status='done' processed_at=@-2h
-- failed: status='error' processed_at=@-1h error='timeout' retry_count=3
-- stuck: status='processing' processed_at=@-3h
-- running: status='processing' processed_at=@-1m
-- late: created_at=@-40m
-- claim: status = 'new' AND processed_at IS NULL

-- home17.float_jobs
CREATE TABLE float_jobs (id serial PRIMARY KEY, func text, args bytea, status text DEFAULT 'queued', enqueued float8, started float8, finished float8, run_at float8, worker_id text, result text, exc text);
-- all: func='mail' args='x' enqueued=@f-150m
-- done: status='finished' started=@f-2h finished=@f-116m worker_id='w1' run_at=@f-2h
-- failed: status='failed' started=@f-1h finished=@f-58m worker_id='w1' exc='boom' run_at=@f-1h
-- stuck: status='started' started=@f-3h worker_id='w1' run_at=@f-3h
-- running: status='started' started=@f-1m worker_id='w2' run_at=@f-1m
-- late: run_at=@f-40m
-- later: run_at=@f+1d
-- claim: status = 'queued' AND worker_id IS NULL AND run_at <= extract(epoch FROM now())

-- home18.batch_items
CREATE TABLE batch_items (batch_no int NOT NULL, item_no int NOT NULL, done bool NOT NULL DEFAULT false, failed bool NOT NULL DEFAULT false, in_progress bool NOT NULL DEFAULT false, worker varchar(50), started timestamp, ended timestamp, retries int NOT NULL DEFAULT 0, error_text text, input jsonb, PRIMARY KEY (batch_no, item_no));
-- all: batch_no=1 item_no=n input='{}'
-- done: done=true worker='w1' started=@-2h ended=@-2h
-- failed: failed=true worker='w1' started=@-1h ended=@-1h error_text='boom' retries=3
-- stuck: in_progress=true worker='w1' started=@-3h
-- running: in_progress=true worker='w2' started=@-1m
-- late: retries=0
-- claim: NOT done AND NOT failed AND NOT in_progress AND worker IS NULL

-- home19.webhooks
CREATE TABLE webhooks (id bigserial PRIMARY KEY, url text NOT NULL, body text NOT NULL, state varchar NOT NULL DEFAULT 'WAITING', try_no int NOT NULL DEFAULT 0, tries_max int NOT NULL DEFAULT 8, not_before timestamptz NOT NULL DEFAULT now(), reserved_by uuid, reserved_until timestamptz NOT NULL DEFAULT '-infinity', response_code int, response_text text, finished timestamptz);
-- all: url='u' body='{}'
-- done: state='DONE' finished=@-2h response_code=200 try_no=1 not_before=@-2h
-- failed: state='GAVE_UP' finished=@-1h response_code=500 try_no=8 not_before=@-2h
-- stuck: state='SENDING' reserved_by='00000000-0000-4000-8000-000000000001' reserved_until=@-2h try_no=1 not_before=@-3h
-- running: state='SENDING' reserved_by='00000000-0000-4000-8000-000000000002' reserved_until=@+5m try_no=1 not_before=@-1m
-- late: not_before=@-40m
-- later: not_before=@+1d
-- claim: state = 'WAITING' AND reserved_until < now() AND reserved_by IS NULL AND not_before <= now()

-- home20.Async_Job
CREATE SCHEMA home20types;
CREATE TYPE home20types."Job State" AS ENUM ('Waiting for worker', 'In progress', 'Done!', 'Failed?');
CREATE TABLE "Async_Job" ("Job_ID" uuid PRIMARY KEY DEFAULT gen_random_uuid(), "Current_State" home20types."Job State" NOT NULL DEFAULT 'Waiting for worker', "Payload_JSON" json, "Scheduled_At" timestamptz NOT NULL DEFAULT now(), "Picked_Up_At" timestamptz, "Picked_Up_By" text, "Retry_Count" int NOT NULL DEFAULT 0, "Last_Error" text, "Finished_At" timestamptz);
-- all: "Payload_JSON"='{}'
-- done: "Current_State"='Done!' "Finished_At"=@-2h "Picked_Up_At"=@-2h "Picked_Up_By"='w1' "Scheduled_At"=@-2h
-- failed: "Current_State"='Failed?' "Finished_At"=@-1h "Last_Error"='x' "Picked_Up_At"=@-1h "Picked_Up_By"='w1' "Scheduled_At"=@-1h
-- stuck: "Current_State"='In progress' "Picked_Up_At"=@-3h "Picked_Up_By"='w1' "Scheduled_At"=@-3h
-- late: "Scheduled_At"=@-40m
-- later: "Scheduled_At"=@+1d
-- claim: "Current_State" = 'Waiting for worker' AND "Picked_Up_By" IS NULL AND "Scheduled_At" <= now()

-- home21.work_units
CREATE TABLE work_units (unit_code varchar(20) PRIMARY KEY, stage int4 NOT NULL DEFAULT 0, stage_changed timestamptz DEFAULT now(), agent varchar(40), agent_since timestamptz, tries_remaining int4 NOT NULL DEFAULT 3, wake_up_at timestamptz, spec jsonb, done boolean DEFAULT false, fault text);
-- all: unit_code='u'||n spec='{}'
-- done: stage=9 done=true
-- failed: stage=5 fault='x' tries_remaining=0
-- stuck: stage=1 agent='a1' agent_since=@-3h
-- late: wake_up_at=@-40m
-- later: wake_up_at=@+1d
-- claim: stage = 0 AND agent IS NULL AND wake_up_at <= now()

-- home22.batch_queue
CREATE TABLE batch_queue (batch_id int8 PRIMARY KEY, submitted timestamptz NOT NULL DEFAULT now(), launched timestamptz, concluded timestamptz, exit_status int, exec_node varchar(64), attempt_no int NOT NULL DEFAULT 0, command text, log text);
-- all: batch_id=n command='ls'
-- done: launched=@-2h concluded=@-2h exit_status=0 exec_node='n1'
-- failed: launched=@-1h concluded=@-1h exit_status=1 exec_node='n1'
-- stuck: launched=@-3h exec_node='n1'
-- late: submitted=@-40m
-- claim: launched IS NULL AND concluded IS NULL

-- home23.reports
CREATE TABLE reports (report_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), kind text NOT NULL, step text NOT NULL DEFAULT 'requested' CHECK (step IN ('requested','rendering','ready','failed')), requested timestamptz NOT NULL DEFAULT now(), rendering_since timestamptz, rendered_by text, ready_at timestamptz, problem text, tries_left int NOT NULL DEFAULT 3, options jsonb NOT NULL DEFAULT '{}');
-- all: kind='pdf'
-- done: step='ready' rendering_since=@-2h rendered_by='r1' ready_at=@-2h
-- failed: step='failed' rendering_since=@-1h rendered_by='r1' problem='oom' tries_left=0
-- stuck: step='rendering' rendering_since=@-3h rendered_by='r1' tries_left=2
-- late: requested=@-40m
-- claim: step = 'requested' AND rendered_by IS NULL AND tries_left > 0

-- home24.pushes
CREATE TABLE pushes (id bigserial PRIMARY KEY, device text NOT NULL, body text NOT NULL, not_before bigint NOT NULL DEFAULT 0, sent_ms bigint NOT NULL DEFAULT 0, dead smallint NOT NULL DEFAULT 0, grabbed_ms bigint NOT NULL DEFAULT 0, grabbed_host varchar(64) NOT NULL DEFAULT '', failures smallint NOT NULL DEFAULT 0, why varchar(200) NOT NULL DEFAULT '');
-- all: device='d' body='b'
-- done: not_before=@ms-2h sent_ms=@ms-2h grabbed_ms=@ms-2h grabbed_host='a'
-- failed: not_before=@ms-1h dead=1 failures=9 why='410' grabbed_ms=@ms-1h grabbed_host='a'
-- stuck: not_before=@ms-3h grabbed_ms=@ms-3h grabbed_host='a'
-- late: not_before=@ms-40m
-- later: not_before=@ms+1d
-- claim: sent_ms = 0 AND dead = 0 AND grabbed_ms = 0 AND not_before <= extract(epoch FROM now()) * 1000

-- nango.tasks
CREATE TYPE task_states AS ENUM ('CREATED', 'STARTED', 'SUCCEEDED', 'FAILED', 'EXPIRED', 'CANCELLED');
CREATE TABLE tasks (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name varchar(255) NOT NULL, payload json NOT NULL, group_key varchar(255) NOT NULL, retry_max int NOT NULL DEFAULT 0, retry_count int NOT NULL DEFAULT 0, starts_after timestamptz NOT NULL, created_to_started_timeout_secs int NOT NULL DEFAULT 60, started_to_completed_timeout_secs int NOT NULL DEFAULT 60, heartbeat_timeout_secs int NOT NULL DEFAULT 60, created_at timestamptz NOT NULL DEFAULT now(), state task_states NOT NULL DEFAULT 'CREATED', last_state_transition_at timestamptz NOT NULL DEFAULT now(), last_heartbeat_at timestamptz NOT NULL DEFAULT now(), output json, terminated bool NOT NULL DEFAULT false);
-- all: name='sync' payload='{}' group_key='g'
-- done: state='SUCCEEDED' starts_after=@-2h last_state_transition_at=@-2h last_heartbeat_at=@-2h terminated=true
-- failed: state='FAILED' starts_after=@-1h last_state_transition_at=@-1h last_heartbeat_at=@-1h terminated=true output='{"error":"x"}'
-- stuck: state='STARTED' starts_after=@-3h last_state_transition_at=@-3h last_heartbeat_at=@-3h
-- running: state='STARTED' starts_after=@-1m last_state_transition_at=@-1m last_heartbeat_at=@-1m
-- late: starts_after=@-40m last_state_transition_at=@-40m last_heartbeat_at=@-40m
-- later: starts_after=@+1d
