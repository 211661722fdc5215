import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { collection, SERVICES } from '#adapters/kubernetes/client/collection.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { KubernetesObject } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/preview-plane.ts';
import { createAgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import { createKubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { previewManifests } from '#constructs/preview.ts';
import { systemClock } from '#adapters/system/system-clock.ts';
import type { PreviewPlane, PreviewSpec } from '#core/ports/preview-plane.ts';
import { previewName } from '#core/rules/preview-token.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { PREVIEW } from '#test/adapters/kubernetes/plane-bed.ts';
import { SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { accessPlan } from '../../../infra/access/access.plan.ts';
import type { Need } from '../../../infra/access/needs.ts';
import { rulesOf } from '../../../infra/access/needs.ts';
import { sandboxProvider } from '../../../infra/functions/sandbox-provider.plan.ts';
import { templatesPlan, warmPoolsPlan } from '../../../infra/sandboxes/sandboxes.plan.ts';
import { readStackConfig } from '../../../infra/stack-config/read-stack-config.ts';
import { stackFile, values } from '../../infra/support/stack-files.ts';
import type { Cluster } from '../bed/cluster.ts';
import { GATEWAY_ZONE } from '../bed/bed-plan.ts';
import { BED_GATEWAY } from '../bed/objects.ts';

/** What an account can do: everything below is done with its own token. */
export interface Actor {
  readonly access: ClusterAccess;
  readonly client: KubernetesClient;
  readonly plane: PreviewPlane;
  readonly provider: SandboxProvider;
  /** Whether the API server would let it. */
  mayDo(action: Action): Promise<boolean>;
}

/** What one asks the API server about; no namespace means all of them, or none where the resource has none. */
export interface Action {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The accounts of a stack and their rights, as the stack makes them, in namespaces of their own; nothing else of it. */
export interface AccessHouse {
  readonly namespaces: { readonly previews: string; readonly functions: string };
  readonly admin: Actor;
  /** With the token that TokenRequest gives for this account; resolves once it may do what it is granted. */
  as(account: string, namespace?: string): Promise<Actor>;
  /** An account that has these rights in the previews' namespace, and no others. */
  withRights(needs: readonly Need[]): Promise<Actor>;
  /** What a start leaves that dies after the first of its two writes. */
  leaveService(spec: PreviewSpec): Promise<void>;
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  close(): Promise<void>;
}

const REVIEWS = { path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', plural: 'reviews' };

/** @param sandboxes as in a stack file */
export async function openAccessHouse(bed: Cluster, sandboxes: object): Promise<AccessHouse> {
  const name = `access-${randomBytes(4).toString('hex')}`;
  const namespaces = { previews: `${name}-previews`, functions: `${name}-functions` };
  const config = readStackConfig(
    values(stackFile({ 'porthole:namespaces': namespaces, 'porthole:sandboxes': sandboxes })),
    () => true,
  );
  const kind = sandboxProvider(config.sandboxes);
  const open: { close(): void | Promise<void> }[] = [];
  const own = await readKubeconfig(bed.kubeconfig);

  const actor = (access: ClusterAccess): Actor => {
    const client = createKubernetesClient({ access });
    const at = { client, access, namespace: namespaces.previews };
    const provider =
      kind === 'agent-sandbox'
        ? createAgentSandboxProvider({ ...at, warmPool: 'cold' })
        : createKubernetesProvider({ ...at, image: SANDBOX_IMAGE, pod: { memoryMebibytes: 256 } });
    open.push(provider, client);
    const plane = createKubernetesPlane({
      client,
      preview: {
        ...PREVIEW,
        zoneSuffix: GATEWAY_ZONE,
        gatewayName: BED_GATEWAY.name,
        gatewayNamespace: BED_GATEWAY.namespace,
        namespace: namespaces.previews,
      },
      clock: systemClock,
      provider,
      probe: undefined,
      listener: 'https',
    });
    const mayDo = async ({ verb, group, resource, subresource, namespace }: Action): Promise<boolean> => {
      const review = await client.create<KubernetesObject & { status: { allowed: boolean } }>(REVIEWS, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb, group, resource, subresource, namespace } },
      });
      return review.status.allowed;
    };
    return { access, client, plane, provider, mayDo };
  };
  const admin = actor(own);

  const as = async (account: string, namespace = namespaces.functions): Promise<Actor> => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const request = await admin.client.create<KubernetesObject & { status: { token: string } }>(
      { path, plural: 'tokens' },
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    );
    const { server, ca, serverName } = own;
    return actor({ server, ca, serverName, token: async () => request.status.token });
  };

  /** The API server learns of a role a moment after it is stored, and no event tells when. */
  const granted = async (found: Actor, { group, resource, verb }: Need): Promise<Actor> => {
    const [name = '', subresource] = resource.split('/');
    const action = { verb, group, resource: name, subresource, namespace: namespaces.previews };
    for (const deadline = Date.now() + 10_000; !(await found.mayDo(action)); await pause(20)) {
      if (Date.now() > deadline) throw new Error(`${verb} ${resource} is not granted after 10 s`);
    }
    return found;
  };

  const apply = (items: readonly object[]): Promise<string> =>
    bed.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const rbac = 'rbac.authorization.k8s.io';
  const account = (plan: { serviceAccount: object; role: object; binding: object }): object[] => [
    { apiVersion: 'v1', kind: 'ServiceAccount', ...plan.serviceAccount },
    { apiVersion: `${rbac}/v1`, kind: 'Role', ...plan.role },
    { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', ...plan.binding },
  ];

  await apply(
    Object.values(namespaces).map((each) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: each },
    })),
  );
  const plans = accessPlan(config);
  await apply([...plans.flatMap(account), ...templatesPlan(config), ...warmPoolsPlan(config)]);
  const right = { group: 'gateway.networking.k8s.io', resource: 'httproutes', verb: 'get', why: '' };
  let made = 0;

  return {
    namespaces,
    admin,
    kubectl: (args, stdin) => bed.kubectl([...args, `--namespace=${namespaces.previews}`], stdin),
    as: async (name, namespace) => {
      const found = await as(name, namespace);
      return plans.some(({ serviceAccount }) => serviceAccount.metadata.name === name)
        ? granted(found, right)
        : found;
    },
    withRights: async (needs) => {
      made += 1;
      const name = `some-${made}`;
      const metadata = { name, namespace: namespaces.previews };
      const there = { name, namespace: namespaces.functions };
      await apply(
        account({
          serviceAccount: { metadata: there },
          role: { metadata, rules: rulesOf(needs) },
          binding: {
            metadata,
            roleRef: { apiGroup: rbac, kind: 'Role', name },
            subjects: [{ kind: 'ServiceAccount', ...there }],
          },
        }),
      );
      const found = await as(name);
      const [first] = needs;
      return first === undefined ? found : granted(found, first);
    },
    leaveService: async (spec) => {
      const { service } = previewManifests({
        ...spec,
        name: previewName(spec.token),
        namespace: namespaces.previews,
        gateway: BED_GATEWAY,
        hostname: `${spec.token}-preview.${GATEWAY_ZONE}`,
        attempt: 'of a start that died',
      });
      await admin.client.create(collection(SERVICES, namespaces.previews), service);
    },
    close: async () => {
      for (const each of open) await each.close();
      await bed.kubectl(['delete', 'namespace', ...Object.values(namespaces), '--wait=false']);
    },
  };
}

/** A kubeconfig file of somebody who has a token. */
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
