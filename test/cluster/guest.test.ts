/** Sandboxes of a real cluster that run the guest, called at their pods' addresses and by port-forwards. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createAgentSandboxProvider } from '#adapters/kubernetes/sandboxes/agent-sandbox-provider.ts';
import type { GuestReach } from '#adapters/kubernetes/sandboxes/guest/pod-guests.ts';
import {
  createKubernetesProvider,
  type KubernetesProvider,
} from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { readWorkspaceFile, writeWorkspaceFile } from '#core/use-cases/workspace-files.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { processesContract } from '#test/contracts/processes.contract.ts';
import {
  bytes,
  codeOf,
  eventually,
  run,
  sandboxId,
  sandboxProviderContract,
} from '#test/contracts/sandbox-provider.contract.ts';
import { PEOPLE } from '#test/host/support/people.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { type StandIn, startStandIn } from './agent-sandbox-stand-in/stand-in.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { GUEST } from './guards/actor.ts';
import { type GuardedStack, openGuardedStack } from './guards/guarded-stack.ts';
import { openOnPods } from './hosts/cluster-hosts.ts';

const namespace = `guests-${randomBytes(4).toString('hex')}`;

suite('the guest in pods', missing(), () => {
  let fixture: Cluster;
  let client: KubernetesClient | undefined;

  beforeAll(async () => {
    fixture = await cluster();
    await Promise.all([importSandboxImage(fixture), fixture.kubectl(['create', 'namespace', namespace])]);
  }, 120_000);
  afterAll(async () => {
    client?.close();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const open = async (reach: GuestReach): Promise<KubernetesProvider> => {
    const access = await readKubeconfig(fixture.kubeconfig);
    client ??= createKubernetesClient({ access });
    const pod = { memoryMebibytes: 512, workspaceMebibytes: 512 };
    const guest = { ...GUEST, reach };
    return createKubernetesProvider({ client, access, namespace, image: SANDBOX_IMAGE, pod, guest });
  };

  describe('the contract of its provider', () => {
    sandboxProviderContract(() => open('address'), { ownNetwork: true });
  });

  test('comes back with its files when code in the sandbox kills it', async () => {
    const provider = await open('address');
    const id = sandboxId();
    await provider.create({ id });
    // In brackets, so that it does not find the shell that looks for it.
    const script =
      'echo kept > kept; for each in /proc/[0-9]*; do grep -q "[p]orthole-guest" $each/cmdline && kill -9 ${each#/proc/}; done';
    const killed = await provider.exec(id, { argv: ['sh', '-c', script] });
    killed.stdout.resume();
    killed.stderr.resume();
    expect(await codeOf(killed.exited)).toBe('exec_transport_error');
    // The pod's status tells of the end, and then of the new start, when the guest may have answered again already.
    const read = async (): Promise<string> => {
      await provider.resume(id);
      return (await run(provider, id, ['cat', 'kept'])).stdout;
    };
    expect(await eventually(async () => (await read().catch(() => '')) === 'kept\n')).toBe(true);
    await provider.destroy(id);
    await provider.close();
  }, 60_000);

  test('is called by port-forwards as well', async () => {
    const [near, far] = [await open('address'), await open('forward')];
    const id = sandboxId();
    await near.create({ id });
    expect(await run(far, id, ['cat'], { input: 'a'.repeat(1_000_000) })).toMatchObject({
      exit: { code: 0 },
      stdout: 'a'.repeat(1_000_000),
    });
    const deps = { provider: far };
    await writeWorkspaceFile(deps, id, 'file', Readable.from(['far']));
    expect(String(await bytes((await readWorkspaceFile(deps, id, 'file')).content))).toBe('far');
    expect(await codeOf(far.dial(id, 3000))).toBe('nothing_listens');
    await near.destroy(id);
    await Promise.all([near.close(), far.close()]);
  }, 60_000);

  test('is named, with the line to add, where the image lacks it', async () => {
    const provider = await open('address');
    const id = sandboxId();
    await expect(provider.create({ id, image: BUSYBOX_IMAGE })).rejects.toMatchObject({
      code: 'sandbox_not_running',
      message: expect.stringContaining('COPY --from=porthole/guest /porthole /porthole'),
    });
    await provider.destroy(id);
    await provider.close();
  }, 60_000);
});

suite('processes on pods', missing(), () => {
  processesContract(
    () => openOnPods({ guest: 'address', environment: { ...PEOPLE, Sandbox__Preview__Upstream: 'guest' } }),
    // No one host knows when a pod starts.
    { publishes: false },
  );
});

suite('the guest in claims of agent-sandbox', missing() ?? definitionsMissing(), () => {
  let stack: GuardedStack;
  let standIn: StandIn;

  beforeAll(async () => {
    const fixture = await cluster();
    await Promise.all([importSandboxImage(fixture), installDefinitions(fixture.kubectl)]);
    stack = await openGuardedStack(fixture, {
      guest: true,
      templates: { plain: { image: SANDBOX_IMAGE, memory: '512Mi' } },
      warmPools: { warm: { template: 'plain', replicas: 1 }, cold: { template: 'plain', replicas: 0 } },
      warmPool: 'cold',
    });
    standIn = startStandIn(stack.admin.access, stack.config.namespaces.previews);
  }, 180_000);
  afterAll(async () => {
    await stack.kubectl(['delete', 'sandboxwarmpools,sandboxclaims', '--all', '--wait=false']);
    await standIn.stop();
    await stack.close();
  });

  test('tells a sandbox out of a warm pool which one it is, also once it is resumed', async () => {
    const { client, access } = await stack.as('porthole');
    const { previews } = stack.config.namespaces;
    const options = { client, access, namespace: previews, warmPool: 'warm', guest: GUEST };
    const provider = createAgentSandboxProvider(options);
    const id = sandboxId();
    const said = async () => (await run(provider, id, ['sh', '-c', 'echo "$SANDBOX_ID"'])).stdout;
    const waiting = ['pod', '--selector=porthole.sandbox.users.io/role=sandbox'];
    await stack.kubectl(['wait', ...waiting, '--for=condition=Ready', '--timeout=60s']);
    await provider.create({ id });
    expect((await provider.inspect(id)).podName).toMatch(/^warm-/);
    expect(await said()).toBe(`${id}\n`);
    await provider.stop(id);
    await provider.resume(id);
    expect(await said()).toBe(`${id}\n`);
    await provider.destroy(id);
    await provider.close();
  }, 120_000);
});
