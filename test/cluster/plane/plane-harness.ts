import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { collection, type Kind } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { PREVIEW } from '#test/adapters/kubernetes/plane-fixture.ts';
import { collect } from '#test/support/collect.ts';
import type { Cluster } from '../fixture/cluster.ts';
import { type FunctionDeps, functionDeps } from './function-deps.ts';
import { aRun } from '#test/contracts/records/samples.ts';

/** A namespace of previews on the real API server, with running functions. */
export interface PlaneHarness {
  readonly namespace: string;
  readonly access: ClusterAccess;
  readonly previewSettings: PreviewOptions;
  readonly records: Records;
  /** For checks from outside. */
  readonly client: KubernetesClient;
  /** The dependencies of another function or reaper: separate connections, shared records. */
  another(options?: AnotherOptions): FunctionDeps;
  makeRun(): RunRecord;
  /** The names of all objects of a kind, ours or foreign. */
  names(kind: Kind): Promise<string[]>;
  close(): Promise<void>;
}

export interface PlaneHarnessOptions {
  /** Prefix of the namespace, before its unique part. */
  readonly name: string;
  readonly previewSettings?: Partial<PreviewOptions>;
  /** @default - a database in memory */
  readonly recordsFile?: string;
}

export interface AnotherOptions {
  /** The clock of its machine, which it compares with the API server's. */
  readonly machine?: Clock;
  /**
   * The time at which it acts, if different: a reaper of the future.
   * @default - the machine's
   */
  readonly clock?: Clock;
  readonly through?: ClusterAccess;
}

/** No gateway has this name: routes are stored, and not served. */
const NO_GATEWAY = 'none';

export async function openPlaneHarness(here: Cluster, options: PlaneHarnessOptions): Promise<PlaneHarness> {
  const namespace = `plane-${options.name}-${process.pid}-${Math.random().toString(36).slice(2, 7)}`;
  const previewSettings = {
    ...PREVIEW,
    gatewayName: NO_GATEWAY,
    gatewayNamespace: namespace,
    namespace,
    ...options.previewSettings,
  };
  const access = await readKubeconfig(here.kubeconfig);
  const records = openSqliteRecords({ file: options.recordsFile ?? ':memory:' });
  await records.migrate();
  const clients: KubernetesClient[] = [];
  const connect = (to: ClusterAccess, clock: Clock) => {
    const client = createKubernetesClient({ access: to, now: () => clock.now() });
    clients.push(client);
    return client;
  };
  const client = connect(access, systemClock);
  await here.kubectl(['create', 'namespace', namespace]);

  return {
    namespace,
    access,
    previewSettings,
    records,
    client,
    another: ({ machine = systemClock, clock = machine, through = access } = {}) => ({
      ...functionDeps(connect(through, machine), previewSettings, clock),
      records,
    }),
    makeRun: () => aRun(randomIds.run(), { sandboxId: randomIds.sandbox(), createdAt: new Date() }),
    names: async (kind) => {
      const found = await collect(client.list(collection(kind, namespace), { metadataOnly: true }));
      return found.map(({ metadata }) => metadata.name).sort();
    },
    close: async () => {
      await here.kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait=false']);
      for (const each of clients) each.close();
      await records.close();
    },
  };
}
