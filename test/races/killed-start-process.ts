import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
/**
 * A process that makes a run on the data folder named by the first argument, and then starts and
 * stops its previews in a loop. With a second argument it kills itself at that step, counted in
 * calls of ports: before a call or after its effect. Without arguments it ends once it is loaded.
 * It prints what it would have answered a client, at the time of the answer.
 */
import { writeSync } from 'node:fs';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { LOCAL } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { createRun } from '#core/runs/create-run.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { stopPreview } from '#core/previews/live-previews.ts';
import { interleavedPlane, interleavedRecords } from '#test/doubles/interleaved.ts';
import { openHarness } from './data-folder-harness.ts';

const [dataDir, killAt] = process.argv.slice(2);
if (dataDir === undefined) process.exit();

let step = 0;
const turn = async () => {
  step += 1;
  if (String(step) === killAt) process.kill(process.pid, 'SIGKILL');
};
function say(...words: readonly (string | number)[]): void {
  writeSync(1, `${words.join(' ')}\n`);
}

// Loaded and ready; it does not access the folder before it is signaled.
say('ready');
for await (const _ of process.stdin);

const harness = await openHarness(dataDir, systemClock, turn);
const deps = {
  ...harness,
  plane: interleavedPlane(harness.plane, turn),
  records: interleavedRecords(harness.records, turn),
  provisionAccess: async () => {},
  pool: { take: async () => undefined },
  quotas: NO_QUOTAS,
  runSharing: 'private' as const,
  images: [],
};
say('go');
const { run } = await createRun(deps, LOCAL, { autoApproveTools: false });
say('run', run.id, run.sandboxId);

async function start(targetPort: number, rotate = false): Promise<string | undefined> {
  try {
    const { preview } = await startPreview(deps, { run, targetPort, rotate });
    say('started', run.id, targetPort, preview.token);
    return preview.token;
  } catch (error) {
    if (error instanceof PortholeError && error.status < 500) return undefined;
    throw error;
  }
}

for (;;) {
  const [token] = await Promise.all([start(3000), start(3001), start(3000), start(3002), start(3003)]);
  await start(3001);
  if (token !== undefined) {
    say('stopping', token);
    await stopPreview(deps, { run, token });
    say('stopped', token);
  }
  say('stopping', run.id, 3002);
  await start(3002, true);
}
