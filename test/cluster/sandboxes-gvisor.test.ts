/**
 * The kubernetes provider with pods in gVisor. What the cluster decides alone, as quotas and images
 * that do not come, is in sandboxes.test.ts.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import {
  codeOf,
  eventually,
  run,
  sandboxId,
  sandboxProviderContract,
} from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { RUNTIME_CLASS } from './fixture/objects.ts';
import { ownKubeconfig } from './fixture/own-cluster.ts';
import { GUEST } from './guards/actor.ts';
import { podRuntimeContract } from './sandboxes/pod-runtime.contract.ts';

const namespace = `sandboxes-gvisor-${randomBytes(4).toString('hex')}`;

const gvisorMissing =
  ownKubeconfig() === undefined ? undefined : 'the cluster may have no gVisor: unset KUBECONFIG';

suite('kubernetes provider, pods in gVisor', missing() ?? gvisorMissing, () => {
  let fixture: Cluster;
  let client: KubernetesClient | undefined;

  beforeAll(async () => {
    fixture = await cluster();
    await importSandboxImage(fixture);
    await fixture.kubectl(['create', 'namespace', namespace]);
  }, 120_000);
  afterAll(async () => {
    client?.close();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const open = async (options: { readonly pod?: object } = {}): Promise<TestProvider> => {
    const access = await readKubeconfig(fixture.kubeconfig);
    client ??= createKubernetesClient({ access });
    const size = { memoryMebibytes: 1024, workspaceMebibytes: 1024 };
    const pod = { ...size, runtimeClassName: RUNTIME_CLASS, ...options.pod };
    const guest = { ...GUEST, reach: 'address' } as const;
    return withGuests(
      new KubernetesProvider({ client, access, namespace, image: SANDBOX_IMAGE, pod, guest }),
    );
  };

  describe('its contract', () => {
    sandboxProviderContract(() => open(), { ownNetwork: true, loses: ['FIFO', 'socket'] });
  });

  describe('in the runtime of its pods', () => {
    podRuntimeContract(open);

    test('runs commands on the kernel of gVisor', async () => {
      const provider = await open();
      const id = sandboxId();
      await provider.create({ id });
      expect((await run(provider, id, ['cat', '/proc/version'])).stdout).toMatch(/gvisor/i);
      await provider.destroy(id);
      await provider.close();
    });

    // The kernel ends gVisor, and with it the network of the pod: nothing closes its connections.
    test('reports a command as lost when memory runs out, and comes back with its files', async () => {
      const provider = await open({ pod: { memoryMebibytes: 256 } });
      const id = sandboxId();
      await provider.create({ id });
      const script =
        'require("fs").writeFileSync("kept", "kept"); for (const all = [];;) all.push(Buffer.alloc(1e7, 1))';
      const greedy = await provider.exec(id, { argv: ['node', '-e', script] });
      greedy.stderr.resume();
      greedy.stdout.resume();
      expect(await codeOf(greedy.exited)).toBe('exec_transport_error');
      const read = async (): Promise<string> => {
        await provider.resume(id);
        return (await run(provider, id, ['cat', 'kept'])).stdout;
      };
      expect(await eventually(async () => (await read().catch(() => '')) === 'kept')).toBe(true);
      await provider.destroy(id);
      await provider.close();
    }, 60_000);
  });
});
