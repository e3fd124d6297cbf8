// Genuine graphile-worker: its worker, and its tools.
//
// `node app.mjs worker TASK...` starts a worker that has these tasks, in the database WORKER_DSN. `install` creates the tables,
// and `cleanup` removes what no job uses. The file is copied to the folder in which the engine is installed.

import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { makeWorkerUtils, run } from "graphile-worker";

const connectionString = process.env.WORKER_DSN;

// Wait until the file exists.
async function hold({ gate }) {
  while (!existsSync(gate)) await pause(50);
}

// Fail, unless the file exists.
async function fail({ gate }) {
  if (!existsSync(gate)) throw new Error("no such mailbox");
}

const [what, ...names] = process.argv.slice(2);
if (what === "worker") {
  const taskList = Object.fromEntries(names.map((name) => [name, name.startsWith("fail") ? fail : hold]));
  const runner = await run({ connectionString, taskList, concurrency: 4, pollInterval: 100, parsedCronItems: [] });
  await runner.promise;
} else {
  const utils = await makeWorkerUtils({ connectionString });
  if (what === "install") await utils.migrate();
  if (what === "cleanup") await utils.cleanup({ tasks: ["GC_TASK_IDENTIFIERS", "GC_JOB_QUEUES"] });
  await utils.release();
}
