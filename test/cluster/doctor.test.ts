/**
 * The doctor in pods of a real cluster: a Debian-like image with Node, and one with only busybox
 * and the guest.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appProbe } from '#adapters/previews/http-app-probe.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { diagnoseSandbox } from '#core/diagnosis/diagnose-sandbox.ts';
import {
  importPlainImage,
  importSandboxImage,
  PLAIN_IMAGE,
  SANDBOX_IMAGE,
} from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { eventually, run, sandboxId, until } from '#test/contracts/sandbox-provider.contract.ts';
import { previewOptions } from '#test/support/preview-options.ts';
import { suite } from '#test/support/suite.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { GUEST } from './guards/actor.ts';

const namespace = `doctor-${randomBytes(4).toString('hex')}`;

suite('the doctor in a cluster', missing(), () => {
  let fixture: Cluster;
  let client: KubernetesClient;
  let provider: TestProvider;

  beforeAll(async () => {
    fixture = await cluster();
    await Promise.all([importSandboxImage(fixture), importPlainImage(fixture)]);
    await fixture.kubectl(['create', 'namespace', namespace]);
    const access = await readKubeconfig(fixture.kubeconfig);
    client = createKubernetesClient({ access });
    const pod = { memoryMebibytes: 512, workspaceMebibytes: 256 };
    provider = withGuests(
      new KubernetesProvider({
        client,
        access,
        namespace,
        image: SANDBOX_IMAGE,
        pod,
        guest: GUEST,
      }),
    );
  }, 120_000);
  afterAll(async () => {
    await provider.close();
    client.close();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const diagnose = (id: string, port?: number) =>
    diagnoseSandbox(
      {
        sandboxes: provider,
        plane: { needsOpenAddress: true },
        previewSettings: previewOptions(),
        probe: appProbe,
      },
      { run: { sandboxId: id } as RunRecord, port },
    );
  const serve = async (id: string, port: number, host: string): Promise<void> => {
    const program = `require('http').createServer((q, r) => r.end('hello')).listen(${port}, '${host}', () => console.log('up'))`;
    const server = await provider.exec(id, { argv: ['node', '-e', program] });
    server.stderr.resume();
    await until(server.stdout, 'up');
    server.stdout.resume();
  };

  test('tells a server that only the pod itself reaches from one that the gateway reaches', async () => {
    const id = sandboxId();
    await provider.create({ id });
    await serve(id, 3000, '127.0.0.1');
    await serve(id, 3001, '0.0.0.0');
    const { sandbox, ports, listeners } = await diagnose(id);
    expect(sandbox).toBe('running');
    expect(listeners?.map(({ port, addresses }) => [port, addresses])).toEqual([
      [3000, ['127.0.0.1']],
      [3001, ['0.0.0.0']],
    ]);
    expect(listeners?.[0]?.process?.command).toMatch(/^node -e require/);
    expect(ports.map(({ ready, advice, http }) => [ready, http.kind, advice])).toEqual([
      [
        false,
        'answered',
        'It listens on 127.0.0.1 only, where the preview gateway cannot reach it: start it on all addresses (--host 0.0.0.0, or the like).',
      ],
      [true, 'answered', 'Node.js answers on port 3001: a preview of it works.'],
    ]);
    expect((await diagnose(id, 4000)).advice).toBe(
      'Nothing listens on port 4000, but something does on 3000, 3001: open a preview of that, or start the server on 4000.',
    );
    await provider.destroy(id);
    expect(await diagnose(id, 3000)).toMatchObject({ sandbox: 'absent', ports: [] });
  }, 120_000);

  test('needs nothing but busybox in the image', async () => {
    const id = sandboxId();
    await provider.create({ id, image: PLAIN_IMAGE });
    expect(await diagnose(id)).toMatchObject({ listeners: [], ports: [] });
    await run(provider, id, ['sh', '-c', 'echo hello >index.html; httpd -p 127.0.0.1:3000 -h /workspace']);
    expect(await eventually(async () => (await diagnose(id, 3000)).ports[0]?.http.kind === 'answered')).toBe(
      true,
    );
    const [found] = (await diagnose(id)).ports;
    expect(found?.listener).toMatchObject({ port: 3000, addresses: ['127.0.0.1'] });
    expect(found?.framework?.name).toBe('BusyBox httpd');
    expect(found?.advice).toBe(
      'It listens on 127.0.0.1 only, where the preview gateway cannot reach it: start it on all addresses (BusyBox httpd: -p 0.0.0.0:3000).',
    );
    await provider.destroy(id);
  }, 120_000);
});
