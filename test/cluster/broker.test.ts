/**
 * The network of sandboxes in a real cluster: functions in this process and the broker in another,
 * both on one PostgreSQL, with a proxy of this test in place of the internet.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { approvalsAsked, decide } from '#test/host/support/approvals.ts';
import { execute } from '#test/host/support/commands.ts';
import { installPackage } from '#test/host/support/install-package.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { SIGNING_KEYS } from '#test/infra/support/stack-files.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { freePort } from '#test/support/free-port.ts';
import { answerFromAfar, type Internet, startInternet } from '#test/support/internet.ts';
import { answerRegistry } from '#test/support/npm-registry.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { authorityFiles, issueCertificate, makeAuthority } from './fixture/certificate-authority.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { type BrokerProcess, startBrokerProcess } from './hosts/broker-process.ts';

const REGISTRY = 'http://registry.npmjs.org';
const namespace = `broker-${randomBytes(4).toString('hex')}`;

suite('the broker of a cluster', missing() ?? postgresMissing, () => {
  let fixture: Cluster;
  let postgres: TestPostgres;
  let porthole: TestHost;
  let broker: BrokerProcess;
  let internet: Internet;
  let run: MadeRun;
  let other: MadeRun;
  let environment: Record<string, string>;
  let kubeconfig: string | undefined;
  let folder: string;
  /** The host of a secret. */
  let secure: ReturnType<typeof createHttpsServer>;
  const received: unknown[] = [];

  const startBroker = () =>
    startBrokerProcess({
      KUBECONFIG: fixture.kubeconfig,
      ...environment,
      http_proxy: internet.proxy,
      https_proxy: internet.proxy,
      NODE_EXTRA_CA_CERTS: authorityFiles(folder).certificate,
    });

  beforeAll(async () => {
    fixture = await cluster();
    await fixture.kubectl(['create', 'namespace', namespace]);
    [postgres] = await Promise.all([startPostgres(), importSandboxImage(fixture)]);
    folder = await mkdtemp(join(tmpdir(), 'porthole-broker-'));
    await makeAuthority(folder);
    const { certificate: cert, key } = await issueCertificate(folder, 'secret', {
      commonName: 'secret',
      use: 'server',
      dnsNames: ['secret.example.test'],
    });
    secure = createHttpsServer({ cert, key }, ({ headers }, response) => {
      received.push(headers['x-key']);
      response.end('from afar\n');
    });
    secure.listen(0, '127.0.0.1');
    await once(secure, 'listening');
    internet = await startInternet({
      answer: (request, response) => {
        if (!answerRegistry(request, response, REGISTRY)) answerFromAfar(request, response);
      },
      serverOf: (host) => (host.startsWith('secret.') ? secure : undefined),
    });
    environment = {
      DATABASE_URL: postgres.url,
      PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
      PORTHOLE_PROVIDER: 'kubernetes',
      PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
      PORTHOLE_BROKER_URL: `tcp://${fixture.hostAddress}:${await freePort(fixture.hostAddress)}`,
      Sandbox__Preview__Namespace: namespace,
      Sandbox__Preview__Enabled: 'false',
    };
    kubeconfig = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = fixture.kubeconfig;
    porthole = await startTestHost({ ...PEOPLE, ...environment, PORTHOLE_GUEST_REACH: 'address' });
    broker = await startBroker();
    [run, other] = [await makeRun(porthole, ALICE), await makeRun(porthole, ALICE)];
  }, 180_000);
  afterAll(async () => {
    if (kubeconfig === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = kubeconfig;
    await porthole?.end();
    await broker?.end();
    internet?.close();
    secure?.close().closeAllConnections();
    if (folder !== undefined) await rm(folder, { recursive: true });
    await postgres?.stop();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  }, 120_000);

  const patch = async (body: object): Promise<void> => {
    const answer = await porthole.call('PATCH', `/v1/sandbox/${run.sandboxId}`, { token: ALICE, body });
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  };
  const sh = async (script: string, { sandboxId } = run) => {
    const result = await execute(porthole, sandboxId, ['bash', '-c', script], { token: ALICE });
    return { code: result.exitCode, stdout: result.stdout.toString(), events: result.events };
  };
  const curl = (url: string, of = run) => sh(`curl -sS -p -m 30 ${url} 2>&1`, of);
  const attempts = async () => {
    const answer = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/network`, { token: ALICE });
    return answer.json<{ attempts: { host: string; decision: string; rule: string }[] }>().attempts;
  };

  test('makes the allowed connections, and names the refused ones in the result', async () => {
    await patch({ network: 'allowlist', allow: ['api.example.test'], ask: false });
    expect(await curl('http://api.example.test/')).toMatchObject({ code: 0, stdout: 'from afar\n' });
    expect(internet.tunnels).toEqual(['api.example.test:80']);
    const refused = await curl('http://evil.example.test/');
    expect(refused.code).not.toBe(0);
    const exit = JSON.parse(refused.events.find(({ event }) => event === 'exit')?.data ?? '') as object;
    expect(exit).toMatchObject({
      blocked: [{ host: 'evil.example.test', port: 80, rule: 'not on the list' }],
    });
    expect(internet.tunnels).toEqual(['api.example.test:80']);
    expect(await attempts()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ host: 'api.example.test', decision: 'allowed' }),
        expect.objectContaining({ host: 'evil.example.test', decision: 'blocked' }),
      ]),
    );
  }, 120_000);

  test('refuses the API server, metadata and private addresses, also with network: open', async () => {
    await patch({ network: 'open' });
    for (const host of ['169.254.169.254', '10.0.0.1', '198.19.0.1']) {
      const { code, stdout } = await sh(`curl -sS -k -m 20 https://${host}/ 2>&1`);
      expect([host, code, stdout]).toEqual([host, expect.any(Number), expect.stringMatching(/40[03]|502/)]);
      expect(code).not.toBe(0);
    }
  }, 120_000);

  test('asks the owner while curl waits, and names the command', async () => {
    await patch({ network: 'packages', allow: [], ask: true });
    const asking = curl('http://ask.example.test/');
    const [asked] = await approvalsAsked(porthole, run.runId, { token: ALICE });
    expect(asked?.data).toMatchObject({
      tool: 'network:ask.example.test:80',
      message: expect.stringMatching(/^Allow `curl .*` to connect to ask\.example\.test, port 80\?$/),
    });
    const request_id = asked?.data['request_id'];
    await decide(porthole, run.runId, { request_id, decision: 'approve', scope: 'run' }, ALICE);
    expect(await asking).toMatchObject({ code: 0, stdout: 'from afar\n' });
  }, 120_000);

  test('lets npm install from a registry', async () => {
    await patch({ network: 'packages', allow: [], ask: false });
    const { stdout, stderr, exitCode } = await installPackage(porthole, run.sandboxId, REGISTRY, ALICE);
    expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([
      0,
      '// tiny is here\n',
      expect.stringContaining('added 1 package'),
    ]);
    expect(await attempts()).toContainEqual(
      expect.objectContaining({ host: 'registry.npmjs.org', decision: 'allowed', rule: 'preset npm' }),
    );
  }, 180_000);

  test('ends an open connection when its policy changes', async () => {
    await patch({ network: 'allowlist', allow: ['api.example.test'], ask: false });
    const before = internet.tunnels.length;
    const loading = sh('curl -sS -p -o /dev/null -m 100 http://api.example.test/endless 2>&1');
    await internet.tunnelled(before + 1);
    const began = performance.now();
    await patch({ allow: [] });
    const { code } = await loading;
    expect(code).not.toBe(0);
    expect(performance.now() - began).toBeLessThan(5_000);
  }, 120_000);

  test('refuses the token of one sandbox in another', async () => {
    await patch({ network: 'allowlist', allow: ['api.example.test'] });
    const { stdout: access } = await sh('cat /run/porthole-guest/broker');
    const [host = '', port = '', token = ''] = access.split(' ');
    const steal = `node -e '
      const socket = require("net").connect(${port}, "${host}");
      socket.write(${JSON.stringify(token)} + "\\nCONNECT api.example.test:80 HTTP/1.1\\r\\n\\r\\n");
      socket.on("data", (data) => { console.log(String(data).split("\\r\\n")[0]); process.exit(); });
      socket.on("close", () => process.exit());'`;
    expect((await sh(steal)).stdout).toBe('HTTP/1.1 200 Connection established\n');
    expect((await sh(steal, other)).stdout).toBe('HTTP/1.1 403 Blocked by Porthole\n');
  }, 120_000);

  test('puts the value of a secret into a request, also after a stop of the pod', async () => {
    const secret = { name: 'KEY', host: 'secret.example.test', inject: 'header', value: 'value-0123' };
    await patch({ network: 'allowlist', allow: ['secret.example.test'], secrets: [secret] });
    const ask = 'echo $KEY; curl -sS -m 60 -H "X-Key: $KEY" https://secret.example.test/ 2>&1';
    const { stdout } = await sh(ask);
    expect(stdout).toMatch(/^porthole-secret-[0-9a-f]{32}\nfrom afar\n$/);
    expect(received).toEqual(['value-0123']);
    expect((await sh('env; cat $SSL_CERT_FILE; ls /run/porthole-guest')).stdout).not.toContain('value-0123');
    const stopped = await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/stop`, { token: ALICE });
    expect(stopped.status).toBe(200);
    expect((await sh(ask)).stdout).toBe(stdout);
    expect(received).toEqual(['value-0123', 'value-0123']);
    expect(JSON.stringify(await attempts())).toContain('secret KEY');
  }, 180_000);

  test('fails connections while it is killed under load, and never opens the policy', async () => {
    await patch({ network: 'allowlist', allow: ['api.example.test'], ask: false });
    const before = internet.tunnels.length;
    const load = sh(
      'for i in $(seq 20); do curl -sS -p -o /dev/null -m 60 http://api.example.test/endless & done 2>/dev/null; failed=0; for job in $(jobs -p); do wait $job || failed=$((failed + 1)); done; echo $failed',
    );
    await internet.tunnelled(before + 20);
    await broker.end();
    expect((await load).stdout).toBe('20\n');
    for (const host of ['api.example.test', 'evil.example.test']) {
      expect((await curl(`http://${host}/`)).code).not.toBe(0);
    }
    broker = await startBroker();
    expect(await curl('http://api.example.test/')).toMatchObject({ code: 0, stdout: 'from afar\n' });
    const { code, stdout } = await curl('http://evil.example.test/');
    expect([code, stdout]).toEqual([56, expect.stringContaining('403')]);
    expect(internet.tunnels.filter((each) => each.startsWith('evil'))).toEqual([]);
  }, 180_000);
});
