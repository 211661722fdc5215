import { randomBytes } from 'node:crypto';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import {
  collection,
  type Collection,
  HTTP_ROUTES,
  type Kind,
  SERVICES,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import { type ReapReport, reapPreviews } from '#core/previews/reap-previews.ts';
import { BOX, dial, PREVIEW } from '#test/adapters/kubernetes/plane-fixture.ts';
import { collect } from '#test/support/collect.ts';
import { cluster } from '../fixture/cluster.ts';
import { type FaultyFunction, faultyFunction, type Timeouts } from './faulty-function.ts';

/** A real API server, and functions on it with injectable faults in between. */
export interface FaultFixture {
  /** A client without faults. */
  readonly client: KubernetesClient;
  newNamespace(title: string): Promise<string>;
  optionsOf(namespace: string): PreviewOptions;
  /** Runs with a new function, for a separate run. */
  withFunction<T>(
    namespace: string,
    timeouts: Timeouts,
    does: (fn: FaultyFunction) => Promise<T>,
  ): Promise<T>;
  /** A plane without faults. */
  planeOf(namespace: string): PreviewPlane;
  /** Leaves the Service of a start that crashed after it. */
  leavePartial(namespace: string, token: string, runId: string): Promise<void>;
  /** A pass of a reaper at a given time. */
  pass(plane: PreviewPlane, namespace: string, at: Date): Promise<ReapReport>;
  /** The remaining Services and routes of previews. */
  left(namespace: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

const NAMESPACES: Collection = { path: '/api/v1/namespaces', plural: 'namespaces' };

export async function openFaultFixture(): Promise<FaultFixture> {
  const own = `faults-${randomBytes(4).toString('hex')}`;
  const access: ClusterAccess = await readKubeconfig((await cluster()).kubeconfig);
  const client = createKubernetesClient({ access });
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  const namespaces: string[] = [];
  let runs = 0;
  const optionsOf = (namespace: string) => ({ ...PREVIEW, namespace, maxTotal: 1_000 });
  const planeOf = (namespace: string, by = client) =>
    createKubernetesPlane({
      client: by,
      previewSettings: optionsOf(namespace),
      clock: systemClock,
      sandboxes: { dial },
      probe: undefined,
    });
  return {
    client,
    optionsOf,
    planeOf,
    async newNamespace(title) {
      const name = `${own}-${title}`;
      await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      namespaces.push(name);
      return name;
    },
    async withFunction(namespace, timeouts, does) {
      runs += 1;
      const preview = optionsOf(namespace);
      const fn = await faultyFunction({
        access,
        records,
        previewSettings: preview,
        runId: `run_${runs}`,
        ...timeouts,
      });
      try {
        return await does(fn);
      } finally {
        await fn.close();
      }
    },
    async leavePartial(namespace, token, runId) {
      const now = new Date();
      const { service } = previewManifests({
        name: previewName(token),
        namespace,
        gateway: { name: PREVIEW.gatewayName, namespace: PREVIEW.gatewayNamespace },
        hostname: previewHost(token, PREVIEW.zoneSuffix),
        targetPort: BOX.listens,
        runId,
        owner: 'alice',
        sandboxId: BOX.id,
        podName: BOX.podName,
        startedAt: now,
        expiresAt: now,
        maxUntil: now,
        attempt: 'another.0',
      });
      await client.create(collection(SERVICES, namespace), service);
    },
    pass: (plane, namespace, at) =>
      reapPreviews({ plane, records, previewSettings: optionsOf(namespace), clock: { now: () => at } }),
    async left(namespace) {
      const names = async (kind: Kind) => {
        const found = await collect(client.list(collection(kind, namespace), { metadataOnly: true }));
        return found.map(({ metadata }) => `${kind.plural} ${metadata.name}`);
      };
      return [...(await names(HTTP_ROUTES)), ...(await names(SERVICES))];
    },
    async close() {
      for (const name of namespaces) await client.delete(NAMESPACES, name);
      client.close();
      await records.close();
    },
  };
}

/** The next minute in which passes read all objects, at least this many minutes from now. */
export function wholePassAfter(minutes: number): Date {
  const TEN_MINUTES = 600_000;
  return new Date(Math.ceil((Date.now() + minutes * 60_000) / TEN_MINUTES) * TEN_MINUTES);
}
