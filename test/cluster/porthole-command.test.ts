/**
 * The porthole command in a pod, which calls back over the network: functions on this machine,
 * sandboxes in a real cluster.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { approvalsAsked, decide } from '#test/host/support/approvals.ts';
import { execute, serve } from '#test/host/support/commands.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';

const namespace = `command-${randomBytes(4).toString('hex')}`;

async function freePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

suite('the porthole command in a cluster', missing(), () => {
  let fixture: Cluster;
  let porthole: TestHost;
  let channel: string;
  let kubeconfig: string | undefined;

  beforeAll(async () => {
    fixture = await cluster();
    await importSandboxImage(fixture);
    await fixture.kubectl(['create', 'namespace', namespace]);
    const port = await freePort(fixture.hostAddress);
    channel = `http://${fixture.hostAddress}:${port}`;
    kubeconfig = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = fixture.kubeconfig;
    porthole = await startTestHost({
      ...PEOPLE,
      HOST: '0.0.0.0',
      PORTHOLE_PROVIDER: 'kubernetes',
      PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
      PORTHOLE_CHANNEL_PORT: String(port),
      PORTHOLE_CHANNEL_URL: channel,
      Sandbox__Preview__Namespace: namespace,
      // The data path of previews is tested in another suite.
      Sandbox__Preview__Enabled: 'false',
    });
  }, 120_000);
  afterAll(async () => {
    if (kubeconfig === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = kubeconfig;
    await porthole.end();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const inside = async ({ sandboxId }: MadeRun, script: string) => {
    const result = await execute(porthole, sandboxId, ['sh', '-c', script], { token: ALICE });
    return { code: result.exitCode, stdout: result.stdout.toString(), stderr: result.stderr.toString() };
  };

  test('opens a preview, and is there again when the pod was replaced', async () => {
    const run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
    await serve(porthole, run.sandboxId, 3000, 'hello', ALICE);
    expect(await inside(run, 'porthole preview 3000')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^http:\/\/preview-(\d+)\.localhost:\1\/\n$/),
      stderr: '',
    });
    expect(await inside(run, 'porthole preview 2999')).toMatchObject({ code: 1, stdout: '' });
    const access = await inside(
      run,
      'stat -c "%a %u" $HOME/.porthole/runs/* 2>/dev/null; cat $HOME/.porthole/runs/*',
    );
    const [, own = ''] = /^token=([\w-]+\.[\w-]+\.[\w-]+)$/m.exec(access.stdout) ?? [];
    expect(access.stdout).toContain(`run=${run.runId}\ntoken=${own}\nurl=${channel}\n`);
    const environment = await inside(run, "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env");
    for (const token of [run.agentToken, own]) expect(environment.stdout).not.toContain(token);

    const { sandboxes } = porthole.host.services;
    await sandboxes.stop(run.sandboxId);
    await sandboxes.resume(run.sandboxId);
    expect(await inside(run, 'porthole status')).toMatchObject({ code: 0 });
    await sandboxes.destroy(run.sandboxId);
  }, 120_000);

  test('waits for a person, and exits by what was decided', async () => {
    const run = await makeRun(porthole, ALICE);
    const ask = async (decision: string, count: number) => {
      const asking = inside(run, 'porthole preview 3000 2>&1');
      const requests = await approvalsAsked(porthole, run.runId, { token: ALICE, count });
      const request_id = requests.at(-1)?.data['request_id'];
      await decide(porthole, run.runId, { request_id, decision, reason: 'so it is' }, ALICE);
      return asking;
    };
    expect(await ask('deny', 1)).toMatchObject({ code: 3, stdout: expect.stringContaining('so it is') });
    expect(await ask('approve', 2)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^http:/) });
    await porthole.host.services.sandboxes.destroy(run.sandboxId);
  }, 120_000);

  test('refuses a token that another pod, or the host itself, sends', async () => {
    const [own, other] = [await makeRun(porthole, ALICE), await makeRun(porthole, ALICE)];
    const { stdout } = await inside(own, 'cat $HOME/.porthole/runs/*');
    const [, token = ''] = /^token=(\S+)$/m.exec(stdout) ?? [];
    const path = `${channel}/api/runs/${own.runId}`;
    const statusIn = async (run: MadeRun) =>
      (
        await inside(
          run,
          `curl -s -m 10 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${token}' ${path}`,
        )
      ).stdout;
    expect([await statusIn(own), await statusIn(other)]).toEqual(['200', '401']);
    const { status } = await fetch(path, { headers: { authorization: `Bearer ${token}` } });
    expect(status).toBe(401);
    for (const { sandboxId } of [own, other]) await porthole.host.services.sandboxes.destroy(sandboxId);
  }, 120_000);

  test('reaches the agent routes of runs on that port, with their tokens, and nothing else', async () => {
    const run = await makeRun(porthole, ALICE);
    const ask = async (args: string) =>
      (await inside(run, `curl -s -m 10 -o /dev/null -w '%{http_code}' ${args}`)).stdout;
    const own = `-H 'Authorization: Bearer ${run.agentToken}'`;
    const path = `${channel}/api/runs/${run.runId}`;
    expect(await ask(`${own} ${path}`)).toBe('200');
    expect(await ask(path)).toBe('401');
    expect(await ask(`-H 'Authorization: Bearer ${ALICE}' ${path}`)).toBe('401');
    expect(await ask(`${own} ${channel}/api/runs`)).toBe('404');
    expect(await ask(`${own} ${channel}/v1/sandbox/${run.sandboxId}/running`)).toBe('404');
    await porthole.host.services.sandboxes.destroy(run.sandboxId);
  }, 120_000);
});
