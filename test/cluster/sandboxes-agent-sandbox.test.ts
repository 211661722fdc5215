/** The agent-sandbox provider on a real cluster, with a stand-in for agent-sandbox's controller. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createAgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import { defaultProvider } from '#adapters/kubernetes/sandboxes/default-provider.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { labelValue, LABELS, sandboxObjectName } from '#constructs/names.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import {
  codeOf,
  run,
  sandboxId,
  sandboxProviderContract,
} from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { type StandIn, startStandIn } from './agent-sandbox-stand-in/stand-in.ts';
import { type Cluster, cluster, missing } from './bed/cluster.ts';

const namespace = `claims-${randomBytes(4).toString('hex')}`;
const API = 'extensions.agents.x-k8s.io/v1beta1';

/** A template like the stack's own, and pools of it: one that keeps a sandbox ready, one that keeps none, one of no template. */
const objects = [
  {
    apiVersion: API,
    kind: 'SandboxTemplate',
    metadata: { name: 'plain' },
    spec: {
      networkPolicyManagement: 'Unmanaged',
      podTemplate: {
        metadata: { labels: { [LABELS.role]: 'sandbox' } },
        spec: {
          automountServiceAccountToken: false,
          shareProcessNamespace: true,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
          containers: [
            {
              name: 'sandbox',
              image: SANDBOX_IMAGE,
              resources: { requests: { memory: '64Mi' }, limits: { memory: '1Gi' } },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              volumeMounts: [{ name: 'workspace', mountPath: '/workspace' }],
            },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'workspace' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
  ...[
    { name: 'warm', replicas: 1, template: 'plain' },
    { name: 'cold', replicas: 0, template: 'plain' },
    { name: 'hollow', replicas: 0, template: 'none' },
  ].map(({ name, replicas, template }) => ({
    apiVersion: API,
    kind: 'SandboxWarmPool',
    metadata: { name },
    spec: { replicas, sandboxTemplateRef: { name: template } },
  })),
];

suite('agent-sandbox provider', missing() ?? definitionsMissing(), () => {
  let bed: Cluster;
  let client: KubernetesClient;
  let standIn: StandIn;
  const inNamespace = (...argv: string[]): Promise<string> =>
    bed.kubectl([...argv, `--namespace=${namespace}`]);

  const open = async (warmPool: string, images = {}): Promise<SandboxProvider> => {
    const access = await readKubeconfig(bed.kubeconfig);
    return createAgentSandboxProvider({ client, access, namespace, warmPool, warmPoolsByImage: images });
  };

  beforeAll(async () => {
    bed = await cluster();
    await Promise.all([importSandboxImage(bed), installDefinitions(bed.kubectl)]);
    await bed.kubectl(['create', 'namespace', namespace]);
    const access = await readKubeconfig(bed.kubeconfig);
    client = createKubernetesClient({ access });
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await bed.kubectl(['apply', `--namespace=${namespace}`, '--filename=-'], list);
    standIn = startStandIn(access, namespace);
  }, 180_000);

  afterAll(async () => {
    await inNamespace('delete', 'sandboxwarmpools,sandboxclaims', '--all', '--wait=false');
    await standIn.stop();
    await bed.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    client.close();
  });

  describe('its contract, cold', () => {
    sandboxProviderContract(() => open('cold'), { ownNetwork: true });
  });

  test('is the default where its definitions are installed', async () => {
    expect(await defaultProvider(client)).toBe('agent-sandbox');
  });

  describe('a claim', () => {
    test('takes a warm sandbox, whose pod gets the label that previews select by', async () => {
      await inNamespace(
        'wait',
        'pod',
        `--selector=${LABELS.role}=sandbox`,
        '--for=condition=Ready',
        '--timeout=60s',
      );
      const provider = await open('warm');
      const id = sandboxId();
      await provider.create({ id });
      const { podName } = await provider.inspect(id);
      expect(podName).toMatch(/^warm-[a-z0-9]{5}$/);
      const find = ['get', 'pods', `--selector=${LABELS.sandbox}=${labelValue(id)}`, '--output=name'];
      expect(await inNamespace(...find)).toBe(`pod/${podName}\n`);
      expect((await run(provider, id, ['sh', '-c', 'echo "$SANDBOX_ID"'])).stdout).toBe(`${id}\n`);

      await run(provider, id, ['sh', '-c', 'echo kept > kept']);
      await provider.stop(id);
      expect(await provider.inspect(id)).toMatchObject({ state: 'stopped', podName });
      expect(await inNamespace(...find)).toBe('');
      await provider.resume(id);
      expect(await inNamespace(...find)).toBe(`pod/${podName}\n`);
      expect((await run(provider, id, ['cat', 'kept'])).stdout).toBe('kept\n');

      await provider.destroy(id);
      expect(await inNamespace('get', `sandboxes.agents.x-k8s.io/${podName}`).catch(String)).toContain(
        'NotFound',
      );
      expect(await inNamespace('get', 'pod', podName).catch(String)).toContain('NotFound');
      await provider.close();
    });

    test('starts cold, under its own name, where the pool keeps none ready', async () => {
      const provider = await open('cold');
      const id = sandboxId();
      await provider.create({ id });
      expect(await provider.inspect(id)).toEqual({ state: 'running', podName: sandboxObjectName(id) });
      await provider.destroy(id);
      await provider.close();
    });

    test('is made again by a create that a crash cut off after it', async () => {
      const [first, second] = [await open('cold'), await open('cold')];
      const id = sandboxId();
      const abort = new AbortController();
      const creating = first.create({ id }, abort.signal);
      await inNamespace('wait', `sandboxclaim/${sandboxObjectName(id)}`, '--for=create', '--timeout=30s');
      abort.abort(new Error('crashed'));
      await expect(creating).rejects.toThrow('crashed');
      await second.create({ id });
      expect(await second.inspect(id)).toMatchObject({ state: 'running' });
      await second.destroy(id);
      await Promise.all([first.close(), second.close()]);
    });

    test.each([
      ['there is no such pool', 'nowhere', 'WarmPoolNotFound: SandboxWarmPool "nowhere" not found'],
      ['its pool has no template', 'hollow', 'TemplateNotFound: SandboxTemplate "none" not found'],
    ])('fails at once with its own reason where %s', async (_title, pool, reason) => {
      const provider = await open(pool);
      const id = sandboxId();
      const failure = await provider.create({ id }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'no_bound_sandbox', message: expect.stringContaining(reason) });
      expect(await provider.inspect(id)).toMatchObject({ state: 'stopped', reason });
      expect(await codeOf(provider.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
      await provider.destroy(id);
      expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
      await provider.close();
    });

    test('goes to the pool of the image that is asked for; one without a pool is refused', async () => {
      const provider = await open('nowhere', { 'debian:12': 'cold' });
      const id = sandboxId();
      expect(await codeOf(provider.create({ id, image: 'debian:13' }))).toBe('image_not_supported');
      await provider.create({ id, image: 'debian:12' });
      expect(await provider.inspect(id)).toMatchObject({ state: 'running' });
      await provider.destroy(id);
      await provider.close();
    });

    test('that is somebody else’s is neither shown nor deleted', async () => {
      const provider = await open('cold');
      const id = sandboxId();
      const foreign = {
        apiVersion: API,
        kind: 'SandboxClaim',
        metadata: { name: sandboxObjectName(id) },
        spec: { warmPoolRef: { name: 'nowhere' } },
      };
      await bed.kubectl(['apply', `--namespace=${namespace}`, '--filename=-'], JSON.stringify(foreign));
      expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
      await provider.destroy(id);
      expect(await inNamespace('get', 'sandboxclaim', sandboxObjectName(id))).toContain(
        sandboxObjectName(id),
      );
      expect(await codeOf(provider.create({ id }))).toBe('internal_error');
      await provider.close();
    });
  });
});
