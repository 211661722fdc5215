import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { KubernetesObject } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { AgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import type { GuestAccess } from '#adapters/kubernetes/sandboxes/pod-guests.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { defaultWarmPool, sandboxProvider } from '../../../infra/sandbox-provider.plan.ts';
import { SIGNING_KEYS } from '../../infra/support/stack-files.ts';
import { LISTENERS } from '#constructs/gateway-manifests.ts';
import type { StackConfig } from '../../../infra/stack-config-schema.ts';

/** Calls guests with the keys of the tests' stack file. */
export const GUEST: GuestAccess = {
  keys: createGuestKeys(deriveKeySet(JwksSchema.parse(JSON.parse(SIGNING_KEYS)))),
  reach: 'address',
};

/** A user with a token, and all of Porthole's operations with that token. */
export interface Actor {
  readonly access: ClusterAccess;
  readonly client: KubernetesClient;
  readonly plane: PreviewPlane;
  readonly provider: TestProvider;
  /** Whether the API server would allow it. */
  mayDo(action: Action): Promise<boolean>;
  /**
   * The API server's reason to refuse this object in the previews' namespace; a dry run that stores
   * nothing.
   */
  refusal(plural: string, object: object): Promise<string | undefined>;
  close(): Promise<void>;
}

/**
 * The subject of an access review; no namespace means all of them, or none for a cluster-scoped
 * resource.
 */
export interface Action {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  /** The name of the only object concerned. */
  readonly name?: string | undefined;
}

const REVIEWS = { path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', plural: 'reviews' };

export function openActor(config: StackConfig, access: ClusterAccess): Actor {
  const client = createKubernetesClient({ access });
  const { namespaces, sandboxes, gateway, preview, zone } = config;
  const namespace = namespaces.previews;
  const warmPool = defaultWarmPool(sandboxes);
  const at = { client, access, namespace, guest: GUEST };
  const provider =
    sandboxProvider(sandboxes) === 'agent-sandbox' && warmPool !== undefined
      ? withGuests(new AgentSandboxProvider({ ...at, warmPool }))
      : withGuests(new KubernetesProvider({ ...at, image: SANDBOX_IMAGE, pod: { memoryMebibytes: 256 } }));
  const plane = createKubernetesPlane({
    client,
    previewSettings: {
      ...preview,
      enabled: true,
      access: 'link',
      maxAccess: 'link',
      maxWakesPerLink: 0,
      maxWakesPerOwner: 0,
      maxNamesPerOwner: 0,
      zoneSuffix: zone,
      gatewayName: gateway.name,
      gatewayNamespace: namespaces.gateway,
      zones: [],
      namespace,
    },
    clock: systemClock,
    sandboxes: provider,
    probe: undefined,
    visits: { openUrl: 'https://porthole.test/open', keys: [] },
    listener: LISTENERS.previews,
    publicPort: gateway.port,
  });
  return {
    access,
    client,
    plane,
    provider,
    mayDo: async (resourceAttributes) => {
      const review = await client.create<KubernetesObject & { status: { allowed: boolean } }>(REVIEWS, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes },
      });
      return review.status.allowed;
    },
    refusal: async (plural, object) => {
      const { apiVersion } = object as { apiVersion: string };
      const api = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
      const path = `${api}/namespaces/${namespace}/${plural}?dryRun=All`;
      return saidAgainst(client.create({ path, plural }, object));
    },
    close: async () => {
      await provider.close();
      client.close();
    },
  };
}

/** The API server's error message for a call; undefined on success. */
export async function saidAgainst(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A token of the account, like those of pods. */
export async function tokenOf(admin: KubernetesClient, namespace: string, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const request = await admin.create<KubernetesObject & { status: { token: string } }>(
    { path, plural: 'tokens' },
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  );
  return request.status.token;
}

/** A kubeconfig file of a user with a token. */
export async function kubeconfigOf({ server, ca, token }: ClusterAccess): Promise<string> {
  const authority =
    ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'own',
    clusters: [{ name: 'own', cluster: { server, ...authority } }],
    users: [{ name: 'own', user: { token: await token?.(false) } }],
    contexts: [{ name: 'own', context: { cluster: 'own', user: 'own' } }],
  });
}
