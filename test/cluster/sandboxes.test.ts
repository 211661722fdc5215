/** The kubernetes provider on a real cluster. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { collection, VOLUME_CLAIMS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { find } from '#adapters/kubernetes/sandboxes/cluster-objects.ts';
import type { GuestReach } from '#adapters/kubernetes/sandboxes/pod-guests.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import {
  codeOf,
  run,
  sandboxId,
  sandboxProviderContract,
} from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { GUEST } from './guards/actor.ts';
import { podRuntimeContract } from './sandboxes/pod-runtime.contract.ts';

const namespace = `sandboxes-${randomBytes(4).toString('hex')}`;

suite('kubernetes provider', missing(), () => {
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

  const open = async ({
    reach = 'address',
    ...more
  }: {
    pod?: object;
    settleWithinMs?: number;
    nodeWithinMs?: number;
    reach?: GuestReach;
  } = {}): Promise<TestProvider> => {
    const access = await readKubeconfig(fixture.kubeconfig);
    client ??= createKubernetesClient({ access });
    const pod = { memoryMebibytes: 1024, workspaceMebibytes: 1024, ...more.pod };
    const guest = { ...GUEST, reach };
    return withGuests(
      new KubernetesProvider({ client, access, namespace, image: SANDBOX_IMAGE, ...more, pod, guest }),
    );
  };
  const inNamespace = (...argv: string[]): Promise<string> =>
    fixture.kubectl([...argv, `--namespace=${namespace}`]);

  describe('its contract', () => {
    sandboxProviderContract(() => open(), { ownNetwork: true });
  });

  describe('in the runtime of its pods', () => {
    podRuntimeContract(open);
  });

  describe('in a cluster', () => {
    test('gives its pod the size and the network that were asked for, also after a stop', async () => {
      const provider = await open();
      const id = sandboxId();
      const name = sandboxObjectName(id);
      const size = { cpu: 0.25, memoryMb: 128, diskMb: 64 };
      await provider.create({ id, resources: size, network: true });
      const limits = () =>
        inNamespace('get', 'pod', name, '--output=jsonpath={.spec.containers[0].resources.limits}');
      const label = () =>
        inNamespace(
          'get',
          'pod',
          name,
          '--output=jsonpath={.metadata.labels.porthole\\.sandbox\\.users\\.io/network}',
        );
      expect([JSON.parse(await limits()), await label()]).toEqual([
        { cpu: '250m', memory: '128Mi' },
        'internet',
      ]);
      expect(
        await inNamespace('get', 'pvc', name, '--output=jsonpath={.spec.resources.requests.storage}'),
      ).toBe('64Mi');
      await provider.stop(id);
      await provider.resume(id);
      expect([JSON.parse(await limits()), await label()]).toEqual([
        { cpu: '250m', memory: '128Mi' },
        'internet',
      ]);
      await provider.destroy(id);
      await expect(provider.create({ id, resources: { cpu: 3 } })).rejects.toMatchObject({
        code: 'resources_not_supported',
      });
      expect((await provider.inspect(id)).state).toBe('absent');
    }, 60_000);

    test('says why the image of the guest does not come', async () => {
      const missing = { guestImage: 'porthole.test/none:1' };
      const provider = await open({ pod: missing, settleWithinMs: 5_000 });
      const refused = provider.create({ id: sandboxId(), image: BUSYBOX_IMAGE });
      await expect(refused).rejects.toMatchObject({
        code: 'sandbox_not_running',
        message: expect.stringMatching(/ErrImagePull|ImagePullBackOff/),
      });
    }, 60_000);

    // The API server pings the node every 5 s: if the runtime has closed by then, the node's kernel
    // resets the connection, and all output in flight is lost.
    test('ends no output early without an error when the reader pauses for longer than the API server’s ping', async () => {
      const provider = await open({ reach: 'forward' });
      const id = sandboxId();
      await provider.create({ id });
      const ends = await Promise.allSettled(
        Array.from({ length: 8 }, async () => {
          const command = await provider.exec(id, { argv: ['head', '-c', '9000000', '/dev/zero'] });
          command.stderr.resume();
          await pause(7_000);
          let size = 0;
          for await (const chunk of command.stdout) size += (chunk as Buffer).length;
          return { size, ...(await command.exited) };
        }),
      );
      for (const end of ends) {
        if (end.status === 'fulfilled') expect(end.value).toEqual({ size: 9_000_000, code: 0 });
        else expect(end.reason).toMatchObject({ code: 'exec_transport_error' });
      }
      await provider.destroy(id);
      await provider.close();
    }, 60_000);

    test('takes an id of 128 characters, and lists it in full', async () => {
      const provider = await open();
      const id = 'a'.repeat(128);
      await provider.create({ id });
      expect((await run(provider, id, ['sh', '-c', 'echo "$SANDBOX_ID"'])).stdout).toBe(`${id}\n`);
      const listed: string[] = [];
      for await (const each of provider.list()) listed.push(each);
      expect(listed).toContain(id);
      await provider.destroy(id);
      await provider.close();
    });

    test.each([
      [
        'an image that does not come',
        { image: 'porthole.test/none:1' },
        { settleWithinMs: 5_000 },
        'sandbox_not_running',
        /ErrImagePull|ImagePullBackOff/,
      ],
      [
        'no node with room, long before the time is over',
        {},
        { pod: { memoryMebibytes: 4_000_000 }, nodeWithinMs: 1_000 },
        'capacity_exceeded',
        /Unschedulable: 0\/1 nodes are available: 1 Insufficient memory/,
      ],
    ])('names %s when a create waits too long', async (_title, spec, options, code, reason) => {
      const provider = await open(options);
      const id = sandboxId();
      const failure = await provider.create({ id, ...spec }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code, message: expect.stringMatching(reason) });
      expect(await provider.inspect(id)).toMatchObject({
        state: 'creating',
        reason: expect.stringMatching(reason),
      });
      expect(await codeOf(provider.exec(id, { argv: ['true'] }))).toBe('sandbox_not_running');
      await provider.destroy(id);
      expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
      await provider.close();
    });

    test('fails a create with an invalid image long before its time', async () => {
      const provider = await open();
      const id = sandboxId();
      const failure = await provider.create({ id, image: 'NO/image' }).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: 'sandbox_not_running',
        message: expect.stringContaining('repository name must be lowercase'),
      });
      await provider.destroy(id);
      await provider.close();
    });

    test('rejects an aborted create with the reason, and another create goes on with the sandbox', async () => {
      const provider = await open();
      const id = sandboxId();
      const abort = new AbortController();
      const creating = provider.create({ id }, abort.signal);
      // Without kubectl: the sandbox is up before kubectl has started.
      const volumes = collection(VOLUME_CLAIMS, namespace);
      const isMade = () => find(client as KubernetesClient, volumes, sandboxObjectName(id));
      while ((await isMade()) === undefined) await pause(5);
      abort.abort(new Error('crashed'));
      await expect(creating).rejects.toThrow('crashed');
      await provider.create({ id });
      expect(await provider.inspect(id)).toMatchObject({ state: 'running' });

      // A removal that a crash interrupted after its first step: detected as such, not resumable,
      // and finished by a create.
      await run(provider, id, ['touch', 'old']);
      await inNamespace('delete', 'pvc', sandboxObjectName(id), '--wait=false');
      expect(await codeOf(provider.resume(id))).toBe('sandbox_not_found');
      await provider.create({ id });
      expect((await run(provider, id, ['test', '-e', 'old'])).exit).toEqual({ code: 1 });
      await provider.destroy(id);
      await provider.close();
    });

    test('reports a sandbox as stopped when its pod was deleted, and resumes it with the image it had', async () => {
      const provider = await open();
      const other = await open({ pod: {} });
      const id = sandboxId();
      await provider.create({ id, image: SANDBOX_IMAGE });
      await inNamespace('delete', 'pod', sandboxObjectName(id));
      expect(await provider.inspect(id)).toEqual({ state: 'stopped', podName: sandboxObjectName(id) });
      await other.resume(id);
      expect(await provider.inspect(id)).toMatchObject({ state: 'running' });
      await provider.destroy(id);
      await Promise.all([provider.close(), other.close()]);
    });

    test('does not use or delete a volume of the same name that is not ours', async () => {
      const provider = await open();
      const id = sandboxId();
      const name = sandboxObjectName(id);
      const foreign = {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      };
      await fixture.kubectl(['apply', '--filename=-'], JSON.stringify(foreign));
      expect(await provider.inspect(id)).toEqual({ state: 'absent', podName: name });
      expect(await codeOf(provider.create({ id }))).toBe('internal_error');
      await provider.destroy(id);
      expect(await inNamespace('get', 'pvc', name, '--output=name')).toBe(`persistentvolumeclaim/${name}\n`);
      await provider.close();
    });

    test('reports a used quota as no capacity', async () => {
      const provider = await open();
      await inNamespace('create', 'quota', 'none', '--hard=count/pods=0');
      await inNamespace('wait', 'quota/none', '--for=jsonpath={.status.hard}', '--timeout=30s');
      const id = sandboxId();
      expect(await codeOf(provider.create({ id }))).toBe('capacity_exceeded');
      await inNamespace('delete', 'quota', 'none');
      await provider.destroy(id);
      await provider.close();
    });
  });
});
