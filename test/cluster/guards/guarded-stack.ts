import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { collection, type Kind, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import type { PreviewSpec } from '#core/previews/preview-plane.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import { accessPlan } from '../../../infra/access.ts';
import { SERVICE_ACCOUNTS } from '../../../infra/labels.ts';
import { type Need, rulesOf } from '../../../infra/rbac-rules.ts';
import { admissionPlan, bindingPlan } from '../../../infra/admission.ts';
import { gatewayPlans } from '../../../infra/gateway.plan.ts';
import { namespacesPlan } from '../../../infra/namespaces.ts';
import { templatesPlan, warmPoolsPlan } from '../../../infra/sandboxes.plan.ts';
import { readStackConfig } from '../../../infra/read-stack-config.ts';
import type { StackConfig } from '../../../infra/stack-config-schema.ts';
import { stackFile, values } from '../../infra/support/stack-files.ts';
import { issueCertificate, makeAuthority } from '../fixture/certificate-authority.ts';
import type { Cluster } from '../fixture/cluster.ts';
import { GATEWAY_CLASS } from '../fixture/objects.ts';
import { type Actor, openActor, tokenOf } from './actor.ts';

/**
 * A stack without functions: its namespaces, its Gateway, its accounts with their rights, its
 * admission policies, its templates and pools; all from the plans of the infrastructure program,
 * under separate names.
 */
export interface GuardedStack {
  readonly config: StackConfig;
  /** The cluster administrator. */
  readonly admin: Actor;
  /**
   * An actor with the token that TokenRequest returns for this account; resolves once it has its
   * rights.
   */
  as(account: string, namespace?: string): Promise<Actor>;
  /** An account with these rights in the previews' namespace, and no others. */
  withRights(needs: readonly Need[]): Promise<Actor>;
  /** Leaves the Service of a start that crashes after the first of its two writes. */
  leaveService(spec: PreviewSpec): Promise<void>;
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  close(): Promise<void>;
}

const RBAC = 'rbac.authorization.k8s.io';
const ACCOUNTS: Kind = { version: 'v1', plural: 'serviceaccounts' };
const ROLES: Kind = { group: RBAC, version: 'v1', plural: 'roles' };
const BINDINGS: Kind = { group: RBAC, version: 'v1', plural: 'rolebindings' };

/**
 * @param sandboxes as in a stack file
 * @param archives as in a stack file. @default nothing is archived
 * @param preview as in a stack file. @default the settings of a stack without any for previews
 */
export async function openGuardedStack(
  fixture: Cluster,
  sandboxes: object,
  archives?: object,
  preview: object = {},
): Promise<GuardedStack> {
  const name = `guarded-${randomBytes(4).toString('hex')}`;
  const namespaces = {
    previews: `${name}-previews`,
    gateway: `${name}-gateway`,
    functions: `${name}-functions`,
  };
  const file = stackFile({
    'porthole:zone': `${name}.preview.test`,
    'porthole:namespaces': namespaces,
    'porthole:certificates': { previewSecret: 'wildcard', apiSecret: 'wildcard', issuer: { name: 'none' } },
    'porthole:gateway': {
      className: GATEWAY_CLASS,
      port: fixture.gateway.https.port,
      podNamespace: 'gateways',
      podLabels: { app: 'gateway' },
    },
    'porthole:sandboxes': sandboxes,
    'porthole:preview': preview,
    ...(archives !== undefined && { 'porthole:archives': archives }),
  });
  const config = readStackConfig(values(file), () => true);
  const own = await readKubeconfig(fixture.kubeconfig);
  const open: Actor[] = [];
  const actor = (access: ClusterAccess): Actor => {
    const made = openActor(config, access);
    open.push(made);
    return made;
  };
  const admin = actor(own);
  const apply = (items: readonly object[]): Promise<string> =>
    fixture.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

  const accounts = accessPlan(config);
  const policies = Object.values(admissionPlan(config)).toReversed();
  await apply(namespacesPlan(config).map((plan) => ({ apiVersion: 'v1', kind: 'Namespace', ...plan })));
  await apply([
    await wildcardSecret(config),
    ...gatewayPlans(config).flatMap(({ made }) => made?.manifest ?? []),
    ...accounts.flatMap(account),
    ...policies.flatMap((plan) => policy(plan, config)),
    ...templatesPlan(config),
    ...warmPoolsPlan(config),
  ]);

  /** Polls, because the API server applies stored objects a moment later, without an event. */
  const eventually = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
    for (const deadline = Date.now() + 10_000; !(await holds()); await pause(20)) {
      if (Date.now() > deadline) throw new Error(`${what} is not in force after 10 s`);
    }
  };
  const as = async (account: string, namespace = namespaces.functions): Promise<Actor> => {
    const { server, ca, serverName } = own;
    const token = await tokenOf(admin.client, namespace, account);
    return actor({ server, ca, serverName, token: async () => token });
  };
  const granted = async (found: Actor, { group, resource, verb }: Need): Promise<Actor> => {
    const [plural = '', subresource] = resource.split('/');
    const action = { verb, group, resource: plural, subresource, namespace: namespaces.previews };
    await eventually(`${verb} ${resource}`, () => found.mayDo(action));
    return found;
  };

  // The policy of routes is stored last.
  const empty = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'none' } };
  const functions = await granted(await as('porthole'), { ...FIRST_RIGHT, verb: 'create' });
  await eventually('admission', async () => {
    const said = await functions.refusal('httproutes', { ...empty, spec: {} });
    return said?.includes('not a preview') ?? false;
  });
  let made = 0;

  return {
    config,
    admin,
    kubectl: (args, stdin) => fixture.kubectl([...args, `--namespace=${namespaces.previews}`], stdin),
    as: async (account, namespace) => {
      const found = await as(account, namespace);
      return namespace === undefined && account.startsWith('porthole')
        ? granted(found, firstRightOf(account))
        : found;
    },
    withRights: async (needs) => {
      made += 1;
      const there = { name: `some-${made}`, namespace: namespaces.functions };
      const metadata = { ...there, namespace: namespaces.previews };
      const roleRef = { apiGroup: RBAC, kind: 'Role', name: there.name };
      const { client } = admin;
      const binding = { metadata, roleRef, subjects: [{ kind: 'ServiceAccount', ...there }] };
      await Promise.all([
        client.create(collection(ACCOUNTS, there.namespace), { metadata: there }),
        client.create(collection(ROLES, metadata.namespace), { metadata, rules: rulesOf(needs) }),
        client.create(collection(BINDINGS, metadata.namespace), binding),
      ]);
      const found = await as(there.name);
      const [first] = needs;
      return first === undefined ? found : granted(found, first);
    },
    leaveService: async (spec) => {
      const { service } = previewManifests({
        ...spec,
        name: previewName(spec.token),
        namespace: namespaces.previews,
        gateway: { name: config.gateway.name, namespace: namespaces.gateway },
        hostname: previewHost(spec.token, config.zone),
        attempt: 'of a start that died',
      });
      await admin.client.create(collection(SERVICES, namespaces.previews), service);
    },
    close: async () => {
      for (const each of open) await each.close();
      const names = policies.map(({ metadata }) => metadata.name);
      await fixture.kubectl(['delete', 'validatingadmissionpolicybindings', ...names]);
      await fixture.kubectl(['delete', 'validatingadmissionpolicies', ...names]);
      await fixture.kubectl(['delete', 'namespace', ...Object.values(namespaces), '--wait=false']);
    },
  };
}

/** A right of every account but the clean-up of snapshots, which uses no previews. */
const FIRST_RIGHT: Need = {
  group: 'gateway.networking.k8s.io',
  resource: 'httproutes',
  verb: 'get',
  why: '',
};

function account(plan: { serviceAccount: object; role: object; binding: object }): object[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', ...plan.serviceAccount },
    { apiVersion: `${RBAC}/v1`, kind: 'Role', ...plan.role },
    { apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', ...plan.binding },
  ];
}

function policy(plan: Parameters<typeof bindingPlan>[0], config: StackConfig): object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  return [
    { apiVersion, kind: 'ValidatingAdmissionPolicy', ...plan },
    { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', ...bindingPlan(plan, config) },
  ];
}

/** The certificate of both listeners of the Gateway. */
async function wildcardSecret({ zone, apiHost, namespaces, certificates }: StackConfig): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-guarded-'));
  try {
    await makeAuthority(folder);
    const dnsNames = [`*.${zone}`, apiHost];
    const request = { commonName: zone, use: 'server', dnsNames } as const;
    const { certificate, key } = await issueCertificate(folder, 'wildcard', request);
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: certificates.previewSecret, namespace: namespaces.gateway },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': certificate, 'tls.key': key },
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function firstRightOf(account: string): Need {
  return account === SERVICE_ACCOUNTS['snapshots-clean']
    ? { group: '', resource: 'pods', verb: 'get', why: '' }
    : FIRST_RIGHT;
}
