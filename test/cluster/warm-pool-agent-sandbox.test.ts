/**
 * The pool of agent-sandbox on a real cluster, with the functions' token and a stand-in for
 * agent-sandbox's controller.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pointer } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { AgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import { createAgentSandboxPool } from '#adapters/kubernetes/sandboxes/claim-pool.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { warmPoolContract } from '#test/contracts/warm-pool.contract.ts';
import { poolConfig, settled } from '#test/support/warm-pools.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { type StandIn, startStandIn } from './agent-sandbox-stand-in/stand-in.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { command } from './fixture/command.ts';
import { type Actor, GUEST, kubeconfigOf } from './guards/actor.ts';
import { type GuardedStack, openGuardedStack } from './guards/guarded-stack.ts';
import { withGuests } from '#test/support/with-guests.ts';

const POOLS = {
  templates: {
    plain: { image: SANDBOX_IMAGE, memory: '128Mi' },
    large: { image: SANDBOX_IMAGE, memory: '128Mi' },
  },
  warmPools: { ready: { template: 'plain', replicas: 0 }, other: { template: 'large', replicas: 0 } },
  warmPool: 'ready',
};

/** A resource that this suite alone uses: others take and free memory at the same time. */
const ROOM = `porthole.test/room-${randomBytes(4).toString('hex')}`;

suite('a warm pool of agent-sandbox', missing() ?? definitionsMissing(), () => {
  let stack: GuardedStack;
  let standIn: StandIn;
  let functions: Actor;
  const open = (config = poolConfig(), warmPool = 'ready') =>
    createAgentSandboxPool({
      client: functions.client,
      namespace: stack.config.namespaces.previews,
      warmPool,
      config,
    });
  const replicas = (pool: string) =>
    stack.kubectl(['get', 'sandboxwarmpool', pool, '--output=jsonpath={.spec.replicas}']);

  const patch = (object: readonly string[], operations: readonly object[]) =>
    stack.kubectl(['patch', ...object, '--type=json', `--patch=${JSON.stringify(operations)}`]);
  /** Gives the first node so many of `ROOM`; null: takes them away. */
  const furnishNode = async (value: string | null): Promise<void> => {
    const node = await stack.kubectl(['get', 'nodes', '--output=jsonpath={.items[0].metadata.name}']);
    const operations = ['capacity', 'allocatable'].map((list) => {
      const path = pointer('status', list, ROOM);
      return value === null ? { op: 'remove', path } : { op: 'add', path, value };
    });
    await patch(['node', node, '--subresource=status'], operations);
  };

  beforeAll(async () => {
    const fixture = await cluster();
    await Promise.all([importSandboxImage(fixture), installDefinitions(fixture.kubectl)]);
    stack = await openGuardedStack(fixture, POOLS);
    standIn = startStandIn(stack.admin.access, stack.config.namespaces.previews);
    functions = await stack.as('porthole');
  }, 180_000);

  afterAll(async () => {
    await stack.kubectl(['delete', 'sandboxwarmpools,sandboxclaims', '--all', '--wait=false']);
    await standIn.stop();
    await stack.close();
  });

  describe('its contract', () => {
    warmPoolContract(
      async () => ({
        open,
        runs: () => Promise.resolve(false),
        dispose: async () => {
          await open().drain();
          await settled(open(), 0);
        },
      }),
      { hands: false },
    );
  });

  test('counts what is claimed from it, and fills up by itself', async () => {
    const pool = open(poolConfig({ warmTarget: 1 }));
    await pool.prime();
    await settled(pool, 1);
    const { client, access } = functions;
    const namespace = stack.config.namespaces.previews;
    const provider = withGuests(
      new AgentSandboxProvider({
        client,
        access,
        namespace,
        warmPool: 'ready',
        guest: GUEST,
      }),
    );
    const id = sandboxId();
    await provider.create({ id });
    expect((await provider.inspect(id)).podName).toMatch(/^ready-/);
    await settled(pool, 1);
    expect(await pool.stats()).toMatchObject({ warm: 1, assigned: 1, total: 2 });
    await provider.destroy(id);
    await provider.close();
    await pool.drain();
  });

  test('gives its room to a caller when no node has room for the sandbox', async () => {
    await furnishNode('2');
    const path = pointer('spec', 'podTemplate', 'spec', 'containers', '0', 'resources');
    const value = {
      requests: { [ROOM]: '1', cpu: '10m' },
      limits: { [ROOM]: '1', cpu: '1', memory: '128Mi' },
    };
    for (const template of ['plain', 'large'])
      await patch(['sandboxtemplate', template], [{ op: 'replace', path, value }]);
    const pool = open(poolConfig({ warmTarget: 2 }));
    await pool.prime();
    await settled(pool, 2);
    const { client, access } = functions;
    const provider = withGuests(
      new AgentSandboxProvider({
        client,
        access,
        namespace: stack.config.namespaces.previews,
        warmPool: 'ready',
        warmPoolsByImage: { large: 'other' },
        guest: GUEST,
        makeRoom: () => pool.makeRoom(),
      }),
    );
    const id = sandboxId();
    await provider.create({ id, image: 'large' });
    expect(await provider.inspect(id)).toMatchObject({ state: 'running' });
    expect(await replicas('ready')).toBe('0');
    await provider.destroy(id);
    await provider.close();
    await furnishNode(null);
  }, 60_000);

  test('is brought to its target by a separate pass, with the functions’ account', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-prime-'));
    try {
      const file = join(folder, 'kubeconfig');
      writeFileSync(file, await kubeconfigOf(functions.access));
      const program = join(import.meta.dirname, '../../host/prime-once.ts');
      const said = await command([process.execPath, '--disable-warning=ExperimentalWarning', program], {
        env: {
          PATH: process.env['PATH'] ?? '',
          KUBECONFIG: file,
          PORTHOLE_DATA_DIR: join(folder, 'data'),
          PORTHOLE_PROVIDER: 'agent-sandbox',
          PORTHOLE_WARM_POOL: 'ready',
          WARM_POOL_TARGET: '2',
          Sandbox__Preview__ZoneSuffix: stack.config.zone,
          Sandbox__Preview__Namespace: stack.config.namespaces.previews,
        },
      });
      expect(said).toContain('"warmTarget":2');
      expect(await replicas('ready')).toBe('2');
    } finally {
      rmSync(folder, { recursive: true });
      await open().drain();
    }
  }, 60_000);

  test('leaves the operator’s own number alone without a target', async () => {
    await stack.kubectl([
      'patch',
      'sandboxwarmpool',
      'ready',
      '--type=merge',
      '--patch={"spec":{"replicas":1}}',
    ]);
    await open(poolConfig({ warmTarget: 0 })).prime();
    expect(await replicas('ready')).toBe('1');
    await open().drain();
    expect(await replicas('ready')).toBe('0');
  });

  test('is refused under another name, and says what to look at', async () => {
    await expect(open(poolConfig(), 'other').prime()).rejects.toMatchObject({
      code: 'exec_transport_error',
      message: expect.stringContaining('Warm pool other: the cluster rejected the request'),
    });
    expect(await replicas('other')).toBe('0');
  });
});
