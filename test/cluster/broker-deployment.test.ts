/**
 * The broker as infra/ deploys it, in the image of the functions: a Deployment behind a Service,
 * with the functions in this process, and a proxy of this test in place of the internet.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { installPackage } from '#test/host/support/install-package.ts';
import { execute } from '#test/host/support/commands.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { answerRegistry } from '#test/support/npm-registry.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { accessPlan } from '../../infra/access.ts';
import { brokerDeploymentPlan, brokerServicePlan } from '../../infra/broker.ts';
import { BROKER_NAME, BROKER_PORT, environmentPlan, secretsPlan } from '../../infra/environment.plan.ts';
import { ENVIRONMENT_NAME } from '../../infra/pod.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { SIGNING_KEYS, stackFile, values } from '../infra/support/stack-files.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { builtImages, imagesMissing } from './images/built-images.ts';

const namespace = `broker-${randomBytes(4).toString('hex')}`;
const REGISTRY = 'http://registry.npmjs.org';
const RBAC = 'rbac.authorization.k8s.io/v1';
const MINUTE = 60_000;

async function listen(server: Server, host: string): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

suite('the broker as a Deployment', missing() ?? imagesMissing() ?? postgresMissing, () => {
  let fixture: Cluster;
  let postgres: TestPostgres;
  let porthole: TestHost;
  let run: MadeRun;
  let kubeconfig: string | undefined;
  const asked: string[] = [];
  const internet = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (!answerRegistry(request, response, REGISTRY)) response.end('from afar\n');
  });
  /** PostgreSQL listens on loopback alone. */
  const database = createTcpServer((client) => {
    const { hostname, port } = new URL(postgres.url);
    const server = connect(Number(port), hostname);
    client.on('error', () => server.destroy()).pipe(server);
    server.on('error', () => client.destroy()).pipe(client);
  });
  const kubectl = (args: readonly string[], stdin?: string) =>
    fixture.kubectl([`--namespace=${namespace}`, ...args], stdin);

  beforeAll(async () => {
    fixture = await cluster();
    const images = await builtImages(fixture);
    await fixture.kubectl(['create', 'namespace', namespace]);
    postgres = await startPostgres();
    const { hostAddress } = fixture;
    const proxy = `http://${hostAddress}:${await listen(internet, hostAddress)}`;
    const url = new URL(postgres.url);
    url.host = `${hostAddress}:${await listen(database, hostAddress)}`;
    const file = stackFile({
      'porthole:namespaces': { previews: namespace, gateway: namespace, functions: namespace },
      'porthole:functions': { image: images.functionHost, egressPorts: [443, 6443, Number(url.port)] },
      'porthole:sandboxes': { image: images.sandbox },
      'porthole:broker': { replicas: 1, egress: [`${hostAddress}/32`] },
    });
    const { broker, ...config } = readStackConfig(
      values({ ...file, secrets: { ...file.secrets, 'porthole:databaseUrl': url.href } }),
      () => true,
    );
    if (broker === undefined) throw new Error('no broker in the stack');
    const own = { ...config, broker };
    const { spec, ...deployment } = brokerDeploymentPlan(own);
    const [container, ...none] = spec.template.spec.containers;
    if (container === undefined || none.length > 0) throw new Error('not one container');
    container.env.push({ name: 'http_proxy', value: proxy }, { name: 'https_proxy', value: proxy });
    const metadata = { name: ENVIRONMENT_NAME };
    const items = [
      ...accessPlan(own)
        .filter(({ id }) => id === 'broker')
        .flatMap(({ serviceAccount, role, binding }) => [
          { apiVersion: 'v1', kind: 'ServiceAccount', ...serviceAccount },
          { apiVersion: RBAC, kind: 'Role', ...role },
          { apiVersion: RBAC, kind: 'RoleBinding', ...binding },
        ]),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: environmentPlan(own) },
      { apiVersion: 'v1', kind: 'Secret', metadata, stringData: secretsPlan(own) },
      { apiVersion: 'apps/v1', kind: 'Deployment', ...deployment, spec },
      { apiVersion: 'v1', kind: 'Service', ...brokerServicePlan(own) },
    ];
    await kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await kubectl(['rollout', 'status', `deployment/${BROKER_NAME}`, '--timeout=120s']);
    const address = await kubectl(['get', 'service', BROKER_NAME, '--output=jsonpath={.spec.clusterIP}']);
    kubeconfig = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = fixture.kubeconfig;
    porthole = await startTestHost({
      ...PEOPLE,
      DATABASE_URL: postgres.url,
      PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
      PORTHOLE_PROVIDER: 'kubernetes',
      PORTHOLE_SANDBOX_IMAGE: images.sandbox,
      PORTHOLE_BROKER_URL: `tcp://${address}:${BROKER_PORT}`,
      PORTHOLE_GUEST_REACH: 'address',
      PORTHOLE_NETWORK_DEFAULT: 'packages',
      Sandbox__Preview__Namespace: namespace,
      Sandbox__Preview__Enabled: 'false',
    });
    run = await makeRun(porthole, ALICE);
  }, 10 * MINUTE);
  afterAll(async () => {
    if (kubeconfig === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = kubeconfig;
    await porthole?.end();
    internet.close().closeAllConnections();
    database.close();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await postgres?.stop();
  }, 2 * MINUTE);

  test(
    'lets npm install from a registry of the preset',
    async () => {
      const { stdout, stderr, exitCode } = await installPackage(porthole, run.sandboxId, REGISTRY, ALICE);
      expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([
        0,
        '// tiny is here\n',
        expect.stringContaining('added 1 package'),
      ]);
      expect(asked).toContain(`${REGISTRY}/tiny`);
    },
    5 * MINUTE,
  );

  test(
    'refuses another host, and logs both',
    async () => {
      const body = { ask: false };
      const changed = await porthole.call('PATCH', `/v1/sandbox/${run.sandboxId}`, { token: ALICE, body });
      expect(changed.status).toBe(200);
      const script = `require('http').get({ port: 2792, path: 'http://evil.example.test/' }, (answer) => answer.pipe(process.stdout))`;
      const refused = await execute(porthole, run.sandboxId, ['node', '-e', script], { token: ALICE });
      expect(refused.stdout.toString()).toContain('is blocked (not on the list)');
      expect(asked.filter((url) => url.includes('evil'))).toEqual([]);
      const log = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/network`, { token: ALICE });
      expect(log.json<{ attempts: unknown[] }>().attempts).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ host: 'registry.npmjs.org', decision: 'allowed', rule: 'preset npm' }),
          expect.objectContaining({ host: 'evil.example.test', decision: 'blocked' }),
        ]),
      );
    },
    2 * MINUTE,
  );
});
