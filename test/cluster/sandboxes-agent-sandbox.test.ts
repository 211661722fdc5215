/**
 * The agent-sandbox provider on a real cluster and the stack's template, with a stand-in for
 * agent-sandbox's controller.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import { defaultProvider } from '#adapters/kubernetes/sandboxes/claim-state.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
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
import { cluster, missing } from './fixture/cluster.ts';
import { type Actor, GUEST } from './guards/actor.ts';
import { type GuardedStack, openGuardedStack } from './guards/guarded-stack.ts';

const API = 'extensions.agents.x-k8s.io/v1beta1';

/** A pool that keeps a sandbox ready, and one that keeps none, of the stack's template. */
const POOLS = {
  templates: { plain: { image: SANDBOX_IMAGE, memory: '512Mi' } },
  warmPools: { warm: { template: 'plain', replicas: 1 }, cold: { template: 'plain', replicas: 0 } },
  warmPool: 'cold',
};

/** A pool with a missing template. */
const hollow = {
  apiVersion: API,
  kind: 'SandboxWarmPool',
  metadata: { name: 'hollow' },
  spec: { replicas: 0, sandboxTemplateRef: { name: 'none' } },
};

suite('agent-sandbox provider', missing() ?? definitionsMissing(), () => {
  let stack: GuardedStack;
  let standIn: StandIn;
  const inNamespace = (...argv: string[]): Promise<string> => stack.kubectl(argv);
  const apply = (object: object) => stack.kubectl(['apply', '--filename=-'], JSON.stringify(object));

  /**
   * Like the functions of a stack: with the token of their account, under all policies of the
   * stack.
   */
  const open = async (warmPool: string, images = {}, account?: Actor): Promise<TestProvider> => {
    const { client, access } = account ?? (await stack.as('porthole'));
    const { previews: namespace } = stack.config.namespaces;
    const warmPoolsByImage = images;
    return withGuests(
      new AgentSandboxProvider({
        client,
        access,
        namespace,
        warmPool,
        warmPoolsByImage,
        guest: GUEST,
      }),
    );
  };

  beforeAll(async () => {
    const fixture = await cluster();
    await Promise.all([importSandboxImage(fixture), installDefinitions(fixture.kubectl)]);
    stack = await openGuardedStack(fixture, POOLS);
    await apply(hollow);
    standIn = startStandIn(stack.admin.access, stack.config.namespaces.previews);
  }, 180_000);

  afterAll(async () => {
    await inNamespace('delete', 'sandboxwarmpools,sandboxclaims', '--all', '--wait=false');
    await standIn.stop();
    await stack.close();
  });

  describe('its contract, cold', () => {
    // Its guests are called as those of pods are: test/cluster/sandboxes has the whole contract.
    sandboxProviderContract(() => open('cold'), { ownNetwork: true, part: 'life' });
  });

  test('is the default where its definitions are installed', async () => {
    expect(await defaultProvider(stack.admin.client)).toBe('agent-sandbox');
  });

  describe('a claim', () => {
    test('lets its pod out by the label that the policy selects, and takes the size of its template alone', async () => {
      const provider = await open('cold');
      const id = sandboxId();
      await provider.create({ id, network: true });
      const { podName } = await provider.inspect(id);
      const { metadata } = JSON.parse(await inNamespace('get', 'pod', podName, '--output=json')) as {
        metadata: { labels: Record<string, string> };
      };
      expect(metadata.labels[LABELS.network]).toBe('internet');
      await provider.destroy(id);
      expect(await codeOf(provider.create({ id, resources: { cpu: 1 } }))).toBe('resources_not_supported');
      expect((await provider.inspect(id)).state).toBe('absent');
    }, 60_000);

    test('takes a warm sandbox and adds the label that previews select by to its pod', async () => {
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
      expect((await run(provider, id, ['sh', '-c', 'cat kept; echo "$SANDBOX_ID"'])).stdout).toBe(
        `kept\n${id}\n`,
      );

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
      // The API server lets no function claim from such a pool: it is not part of the stack.
      const provider = await open(pool, {}, stack.admin);
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

    test('is neither shown nor deleted when it belongs to another manager', async () => {
      const provider = await open('cold');
      const id = sandboxId();
      const foreign = {
        apiVersion: API,
        kind: 'SandboxClaim',
        metadata: { name: sandboxObjectName(id) },
        spec: { warmPoolRef: { name: 'nowhere' } },
      };
      await apply(foreign);
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
