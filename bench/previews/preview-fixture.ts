import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { type Collection, collection, PODS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import type { GatewayProbe } from '#adapters/kubernetes/previews/gateway-probe.ts';
import type { GuestAccess } from '#adapters/kubernetes/sandboxes/pod-guests.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { annotated } from '#adapters/kubernetes/sandboxes/cluster-objects.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { formatPreviewToken } from '#core/previews/preview-token.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import { sandboxPodManifests } from '#constructs/sandbox-pod.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { type BareApi, openBareApi } from './bare-api.ts';
import { RUN } from '../agent-run.ts';
import { previewOptions } from '#test/support/preview-options.ts';

export const ZONE = 'preview.bench';
export const SANDBOX = 'bench';
export const POD_NAME = sandboxObjectName(SANDBOX);

const MINUTE = 60_000;
export const LIFE_MS = 480 * MINUTE;

/** What a start of a preview asks for; by default it idles for half an hour from its start. */
export function wantedPreview(startedAt: Date, expiresAt = new Date(startedAt.getTime() + 30 * MINUTE)) {
  return {
    token: formatPreviewToken(randomBytes(32)),
    runId: RUN,
    owner: 'user',
    sandboxId: SANDBOX,
    podName: POD_NAME,
    targetPort: 3000,
    startedAt,
    expiresAt,
    maxUntil: new Date(startedAt.getTime() + LIFE_MS),
  };
}

/** Previews of one namespace, through one client. */
export interface FixturePlane {
  readonly previewSettings: PreviewOptions;
  readonly plane: PreviewPlane;
  readonly provider: TestProvider;
}

/** A real API server, with separate namespaces for this benchmark. */
export interface PreviewFixture {
  readonly access: ClusterAccess;
  readonly client: KubernetesClient;
  readonly bare: BareApi;
  /** A namespace with a sandbox's pod that the API server considers running. */
  newNamespace(title: string): Promise<string>;
  planeOf(namespace: string, options?: { client?: KubernetesClient; probe?: GatewayProbe }): FixturePlane;
  /** Deletes the namespaces, without waiting for the deletion. */
  close(): Promise<void>;
}

const NAMESPACES: Collection = { path: '/api/v1/namespaces', plural: 'namespaces' };

/** No guest is called here. */
const NONE: GuestAccess = { keys: { publicKeys: '', sign: () => undefined }, reach: 'address' };

/** Serves every route: readiness has a separate benchmark. */
const PROMPT: GatewayProbe = {
  proxies: async () => ['proxy'],
  ask: async () => 'app',
  problems: () => [],
  certificateEnds: () => undefined,
};

export async function openPreviewFixture(kubeconfig: string): Promise<PreviewFixture> {
  const access = await readKubeconfig(kubeconfig);
  const client = createKubernetesClient({ access });
  const bare = openBareApi(access, 32);
  const own = `bench-${randomBytes(4).toString('hex')}`;
  const namespaces: string[] = [];
  return {
    access,
    client,
    bare,
    async newNamespace(title) {
      const name = `${own}-${title}`;
      await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      namespaces.push(name);
      await makePod(client, name);
      return name;
    },
    planeOf(namespace, { client: by = client, probe = PROMPT } = {}) {
      const previewSettings = optionsOf(namespace);
      const cluster = new KubernetesProvider({ client: by, access, namespace, image: 'none', guest: NONE });
      // Listeners are checked apart from the gateway, and not measured here.
      const provider: TestProvider = Object.assign(Object.create(cluster) as TestProvider, {
        inspect: (id: string, signal?: AbortSignal) => cluster.inspect(id, signal),
        dial: async () => new PassThrough(),
      });
      const plane = createKubernetesPlane({
        client: by,
        previewSettings,
        clock: systemClock,
        sandboxes: provider,
        probe,
      });
      return { previewSettings, plane, provider };
    },
    async close() {
      for (const name of namespaces) await client.delete(NAMESPACES, name);
      client.close();
      bare.close();
    },
  };
}

function optionsOf(namespace: string): PreviewOptions {
  return previewOptions({
    zoneSuffix: ZONE,
    // A nonexistent gateway: none must be busy with these routes.
    gatewayName: 'none',
    gatewayNamespace: namespace,
    namespace,
    maxTotal: 1_000_000,
  });
}

/** The pod is never scheduled, so only this benchmark sets its status. */
async function makePod(client: KubernetesClient, namespace: string): Promise<void> {
  const { pod } = sandboxPodManifests({ namespace, sandboxId: SANDBOX, image: 'none', guestKeys: '' });
  const { spec, ...rest } = annotated(pod, SANDBOX) as { spec: object };
  const pods = collection(PODS, namespace);
  await client.create(pods, {
    ...rest,
    spec: { ...spec, schedulingGates: [{ name: 'porthole.bench/never' }] },
  });
  const startedAt = new Date().toISOString();
  await client.mergePatch(pods, `${POD_NAME}/status`, {
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          name: 'sandbox',
          ready: true,
          restartCount: 0,
          image: 'none',
          imageID: 'none',
          containerID: 'none://1',
          state: { running: { startedAt } },
        },
      ],
    },
  });
}
