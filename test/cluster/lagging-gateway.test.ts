/**
 * Starts behind a slow gateway, on a real API server: a preview reported as ready serves its first
 * visitor.
 */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { collection, type Collection, HTTP_ROUTES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { Records } from '#core/records.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { BOX, dial, PREVIEW } from '#test/adapters/kubernetes/plane-fixture.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { cluster, missing } from './fixture/cluster.ts';
import {
  type Programming,
  type SimulatedGateway,
  startSimulatedGateway,
} from './lagging-gateway/simulated-gateway.ts';
import { aRun } from '#test/contracts/records/samples.ts';

const NAMESPACE = `lagging-${randomBytes(4).toString('hex')}`;
const NAMESPACES: Collection = { path: '/api/v1/namespaces', plural: 'namespaces' };
const MINUTE = 60_000;

const STARTS = repetitions(450);
/** Starts in flight at once. */
const AT_ONCE = 64;
const MAX_LAG_MS = 5_000;
const PROXIES = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
/** Extra delay of every third route at one of the proxies. */
const REPLICA_LAG_MS = 1_500;
const NO_ENDPOINT_MS = 400;

/** Deterministic per name: lags are spread evenly from zero to the longest. */
function programming(route: string, proxy: number): Programming {
  const hash = createHash('sha256').update(route).digest();
  const lag = (hash.readUInt16BE(0) / 65_536) * MAX_LAG_MS;
  const isLate = hash.readUInt8(2) % 3 === 0 && hash.readUInt8(3) % PROXIES.length === proxy;
  const knownAt = lag + (isLate ? REPLICA_LAG_MS : 0);
  const hasNoEndpoint = hash.readUInt8(4) % 2 === 0;
  return {
    knownAt,
    servesAt: knownAt + (hasNoEndpoint ? NO_ENDPOINT_MS : 0),
    isBare: hash.readUInt8(5) % 2 === 0,
  };
}

suite('starts behind a gateway that lags up to five seconds', missing(), () => {
  let access: ClusterAccess;
  let client: KubernetesClient;
  let records: Records;
  let gateway: SimulatedGateway;

  beforeAll(async () => {
    access = await readKubeconfig((await cluster()).kubeconfig);
    client = createKubernetesClient({ access });
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
    gateway = await startSimulatedGateway({
      access,
      routes: collection(HTTP_ROUTES, NAMESPACE),
      proxies: PROXIES,
      programming,
    });
  });
  afterAll(async () => {
    await gateway.close();
    await client.delete(NAMESPACES, NAMESPACE);
    client.close();
    await records.close();
  });

  /** Starts one preview per run, and visits each at once through every proxy. */
  const visitors = async (starts: number, title: string, readyTimeoutSeconds: number, atOnce = AT_ONCE) => {
    const previewSettings = { ...PREVIEW, namespace: NAMESPACE, maxTotal: 1_000, readyTimeoutSeconds };
    const plane = createKubernetesPlane({
      client,
      previewSettings,
      clock: systemClock,
      sandboxes: { dial },
      probe: gateway.probe,
    });
    const tokens = plainTokens();
    const sandboxes = { inspect: async () => ({ state: 'running', podName: BOX.podName }) as const };
    const deps = {
      plane,
      records,
      tokens,
      previewSettings,
      quotas: NO_QUOTAS,
      sandboxes,
      clock: systemClock,
    };
    const oneOfFew = gate(atOnce);
    return Promise.all(
      Array.from({ length: starts }, (_, at) =>
        oneOfFew(async () => {
          const run = aRun(`run_${title}_${at}`, {
            sandboxId: BOX.id,
            tokenKid: tokens.currentKid(),
            createdAt: systemClock.now(),
          });
          const started = await startPreview(deps, { run, targetPort: BOX.listens });
          const { hostname } = new URL(started.preview.url ?? '');
          return { readiness: started.readiness, seen: await gateway.visit(hostname) };
        }),
      ),
    );
  };

  test(
    `are ready once every proxy serves, and no first visitor sees a 404 or a 503 (${STARTS} starts)`,
    async () => {
      const visits = await visitors(STARTS, 'patient', 15);
      expect(visits.filter(({ readiness }) => !readiness.ready)).toEqual([]);
      expect(visits.filter(({ seen }) => seen.some((status) => status !== 200))).toEqual([]);
    },
    3 * MINUTE,
  );

  test(
    'report that the preview is on its way, and never too early that it is ready, when they may wait for a second',
    async () => {
      const visits = await visitors(50, 'hasty', 1);
      // A busy machine may make every one of many late: then few are started at once, until one is
      // early enough.
      for (let round = 0; !visits.some(({ readiness }) => readiness.ready); round += 1) {
        visits.push(...(await visitors(20, `unhurried${round}`, 1, 4)));
      }
      const ready = visits.filter(({ readiness }) => readiness.ready);
      expect(ready.filter(({ seen }) => seen.some((status) => status !== 200))).toEqual([]);
      const pending = visits.filter(({ readiness }) => !readiness.ready);
      // The route answers for an app that it does not reach yet.
      const reasons = new Set(pending.map(({ readiness }) => !readiness.ready && readiness.reason));
      expect(['starting', 'nothing_listens']).toEqual(expect.arrayContaining([...reasons]));
      // Otherwise the gateway did not lag, and nothing was tested.
      expect(pending.length).toBeGreaterThan(0);
    },
    5 * MINUTE,
  );
});
