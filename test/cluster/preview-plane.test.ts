import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { collection, HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import type { StoredRoute } from '#adapters/kubernetes/previews/preview-store.ts';
import { createGatewayProbe } from '#adapters/kubernetes/previews/gateway-probe.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { PREVIEW_LABELS, sandboxObjectName, selector } from '#constructs/names.ts';
import { sandboxPodManifests } from '#constructs/sandbox-pod.ts';
import { previewPlaneContract } from '#test/contracts/preview-plane.contract.ts';
import { BOX, dial, PREVIEW } from '#test/adapters/kubernetes/plane-fixture.ts';
import { suite } from '#test/support/suite.ts';
import type { Properties } from '../pulumi/wire-values.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { GATEWAY_ZONE } from './fixture/fixture-plan.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { FIXTURE_GATEWAY } from './fixture/objects.ts';
import { at, each } from './guards/change.ts';

const NAMESPACE = `plane-${process.pid}`;
const CAPACITY = 40;
const MINUTE = 60_000;
/** Time that the gateway may take to receive a route. */
const PROGRAMMED_MS = 3_000;

const preview = {
  ...PREVIEW,
  namespace: NAMESPACE,
  zoneSuffix: GATEWAY_ZONE,
  gatewayName: FIXTURE_GATEWAY.name,
  gatewayNamespace: FIXTURE_GATEWAY.namespace,
};
const sandbox = { ...BOX, podName: sandboxObjectName(BOX.id) };

let here: Cluster;
let client: KubernetesClient;

/**
 * One namespace for all, with the quota that caps previews and a sandbox pod that serves on one
 * port.
 */
async function furnish(): Promise<void> {
  const { pod: guested, volumeClaim } = sandboxPodManifests({
    namespace: NAMESPACE,
    sandboxId: BOX.id,
    image: BUSYBOX_IMAGE,
    guestKeys: '',
    memoryMebibytes: 64,
  });
  const script = `echo a page > /workspace/index.html && exec httpd -f -p ${BOX.listens} -h /workspace`;
  const pod = each('containers', at('command', ['sh', '-c', script]))(guested as Properties);
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'previews', namespace: NAMESPACE },
    spec: { hard: { 'count/httproutes.gateway.networking.k8s.io': String(CAPACITY) } },
  };
  const items = [quota, volumeClaim, pod];
  await here.kubectl(['create', 'namespace', NAMESPACE]);
  await here.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const inNamespace = `--namespace=${NAMESPACE}`;
  await here.kubectl([
    'wait',
    inNamespace,
    `pod/${sandbox.podName}`,
    '--for=condition=Ready',
    '--timeout=60s',
  ]);
  await here.kubectl([
    'wait',
    inNamespace,
    'quota/previews',
    '--for=jsonpath={.status.hard}',
    '--timeout=30s',
  ]);
}

async function harness() {
  const { host, port } = here.gateway.https;
  const probe = createGatewayProbe({
    host,
    port,
    tls: { ca: readFileSync(here.gateway.caFile, 'utf8') },
  });
  const own = () =>
    createKubernetesPlane({
      client,
      previewSettings: preview,
      clock: systemClock,
      sandboxes: { dial },
      probe,
      visits: { openUrl: 'https://porthole.test/open', keys: [] },
      listener: 'https',
      publicPort: port,
    });
  const routes = collection(HTTP_ROUTES, NAMESPACE);
  const services = collection(SERVICES, NAMESPACE);
  return {
    plane: own(),
    capacity: CAPACITY,
    sandbox,
    now: () => new Date(),
    reopen: async () => own(),
    /** The gateway's answer, after the time it needs to receive the API server's state. */
    async reaches({ name, url }: { name: string; url: string | null }) {
      const { hostname } = new URL(url ?? '');
      const exists = await client.get<StoredRoute>(routes, name).then(
        ({ spec }) => (spec?.parentRefs ?? []).length > 0,
        () => false,
      );
      for (const deadline = Date.now() + PROGRAMMED_MS; ; await pause(20)) {
        const isServed = (await probe.ask(host, hostname, AbortSignal.timeout(MINUTE))) === 'app';
        if (isServed === exists || Date.now() > deadline) return isServed;
      }
    },
    async dispose() {
      const all = { labelSelector: selector(PREVIEW_LABELS) };
      for (const kind of [routes, services]) {
        for await (const { metadata } of client.list(kind, all)) await client.delete(kind, metadata.name);
      }
    },
  };
}

suite('previews on a real API server, through a real Gateway', missing(), () => {
  beforeAll(async () => {
    here = await cluster();
    client = createKubernetesClient({ access: await readKubeconfig(here.kubeconfig) });
    await furnish();
  }, 2 * MINUTE);

  afterAll(async () => {
    await here.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait=false']);
    client.close();
  });

  describe('the plane', () => previewPlaneContract('the cluster', harness, { runs: 5 }));
});
