/**
 * A function that starts previews and stops some of them in a loop, until it kills itself with
 * SIGKILL where ordered. It reads its orders from stdin and prints on stdout what it has created
 * and what it would have answered its clients.
 */
import { writeSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import type { Collection, KubernetesObject } from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { PortholeError } from '#base/errors.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { stopPreview } from '#core/previews/live-previews.ts';
import { functionDeps } from './function-deps.ts';

/**
 * Where it dies: at a step between calls, before a call or after its effect; or this many
 * milliseconds after the answer that its n-th Service is created.
 */
export type Death = { readonly step: number } | { readonly service: number; readonly milliseconds: number };

export interface Orders {
  readonly access: Omit<ClusterAccess, 'token'> & { readonly token?: string };
  readonly previewSettings: PreviewOptions;
  readonly recordsFile: string;
  /** Its dates are strings here. */
  readonly run: RunRecord;
  readonly death: Death;
}

const orders = (await json(process.stdin)) as Orders;
const { token, ...access } = orders.access;
const run: RunRecord = { ...orders.run, createdAt: new Date(orders.run.createdAt) };
const { death } = orders;

const client = createKubernetesClient({
  access: { ...access, ...(token !== undefined && { token: async () => token }) },
});
const deps = {
  ...functionDeps(mortal(client), orders.previewSettings, systemClock),
  records: openSqliteRecords({ file: orders.recordsFile }),
};

function say(...words: readonly (string | number)[]): void {
  writeSync(1, `${words.join(' ')}\n`);
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** A client that counts its calls as steps. */
function mortal(real: KubernetesClient): KubernetesClient {
  let step = 0;
  let services = 0;
  const ticket = () => {
    step += 1;
    if ('step' in death && death.step === step) die();
  };
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    ticket();
    const answer = await call();
    ticket();
    return answer;
  };
  return {
    ...real,
    get: (...args) => around(() => real.get(...args)),
    jsonPatch: (...args) => around(() => real.jsonPatch(...args)),
    delete: (...args) => around(() => real.delete(...args)),
    create: <T extends KubernetesObject>(into: Collection, object: object, signal?: AbortSignal) =>
      around(async () => {
        const made = await real.create<T>(into, object, signal);
        say('made', into.plural, made.metadata.name);
        if (into.plural !== 'services') return made;
        services += 1;
        if ('service' in death && death.service === services) {
          if (death.milliseconds === 0) die();
          setTimeout(die, death.milliseconds);
        }
        return made;
      }),
  };
}

async function start(targetPort: number, rotate = false): Promise<string | undefined> {
  try {
    const { preview } = await startPreview(deps, { run, targetPort, rotate });
    say('started', targetPort, preview.token);
    return preview.token;
  } catch (error) {
    if (error instanceof PortholeError && error.status < 500) return undefined;
    throw error;
  }
}

async function stop(started: string): Promise<void> {
  say('stopping', started);
  try {
    await stopPreview(deps, { run, token: started });
    say('stopped', started);
  } catch (error) {
    if (!(error instanceof PortholeError && error.code === 'preview_not_found')) throw error;
  }
}

for (;;) {
  const started = await Promise.all([start(3000), start(3001), start(3000), start(3002)]);
  for (const each of new Set(started)) if (each !== undefined) await stop(each);
  const last = await start(3003);
  say('rotating', 3003);
  await start(3003, true);
  if (last !== undefined) await stop(last);
}
