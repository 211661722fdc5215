/** `porthole doctor --gateway` in a real cluster, through a real Gateway. */
import { execFile, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { suite } from '#test/support/suite.ts';
import { environmentPlan } from '../../infra/environment.plan.ts';
import { deploymentPlan } from '../../infra/functions.ts';
import { ENVIRONMENT_NAME } from '../../infra/pod.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { stackFile, values } from '../infra/support/stack-files.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { FIXTURE_GATEWAY, GATEWAY_CLASS } from './fixture/objects.ts';

const BIN = join(import.meta.dirname, '../../client/bin.js');
const namespace = `doctor-${randomBytes(4).toString('hex')}`;
const limitedKubeconfig = join(tmpdir(), `${namespace}.json`);

/** Whether it becomes true, also on a busy machine. */
async function eventually(check: () => Promise<boolean>): Promise<boolean> {
  for (const until = performance.now() + 60_000; performance.now() < until; await pause(250)) {
    if (await check()) return true;
  }
  return false;
}

suite('the doctor of a Gateway', missing(), () => {
  let here: Cluster;

  beforeAll(async () => {
    here = await cluster();
    await importSandboxImage(here);
    const restricted = 'pod-security.kubernetes.io/enforce=restricted';
    await here.kubectl(['create', 'namespace', namespace]);
    await here.kubectl(['label', 'namespace', namespace, restricted]);
  }, 120_000);
  afterAll(async () => {
    rmSync(limitedKubeconfig, { force: true });
    await here.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const ofInstallation = () => ['--namespace', namespace, '--ca', here.gateway.caFile];
  const settings = () => [
    ...ofInstallation(),
    '--image',
    SANDBOX_IMAGE,
    '--gateway-name',
    FIXTURE_GATEWAY.name,
    '--gateway-namespace',
    FIXTURE_GATEWAY.namespace,
  ];
  const doctor = (words: readonly string[], given = settings(), kubeconfig = here.kubeconfig) => {
    let child: ChildProcess | undefined;
    const ended = new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const env = { PATH: process.env['PATH'] ?? '', KUBECONFIG: kubeconfig };
      const argv = [BIN, 'doctor', '--gateway', ...given, ...words];
      child = execFile(process.execPath, argv, { env }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
    return { ended, interrupt: () => child?.kill('SIGINT') };
  };
  const left = async () =>
    (
      await here.kubectl([
        'get',
        'pods,services,httproutes',
        `--namespace=${namespace}`,
        '--output=name',
        '--selector=app.kubernetes.io/component=gateway-doctor',
      ])
    ).trim();
  const leavesNothing = () => eventually(async () => (await left()) === '');

  test('finds every feature of the Gateway of an installation, and removes what it made', async () => {
    await here.kubectl(['apply', '--filename=-'], JSON.stringify(installation()));
    const { code, stdout, stderr } = await doctor(['--hold', '6s', '--json'], ofInstallation()).ended;
    expect(stderr).toBe('');
    const found = JSON.parse(stdout) as { features: { feature: string; ok: boolean }[] };
    expect(found).toMatchObject({ gateway: 'porthole-fixture/fixture', class: GATEWAY_CLASS, ok: true });
    expect(found.features.map(({ feature }) => feature)).toEqual([
      'route',
      'headers',
      'websocket',
      'sse',
      'timeouts',
      'body',
      'certificate',
    ]);
    expect(code).toBe(0);
    expect(await leavesNothing()).toBe(true);
  }, 120_000);

  test('says what is missing where nothing reaches the gateway, and exits with 1', async () => {
    const { code, stdout } = await doctor(['--wait', '1s', '--address', '127.0.0.1:1']).ended;
    expect(stdout).toMatch(
      /^Gateway porthole-fixture\/fixture of class traefik\nmissing {2}route +accepted, but the gateway at 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)\. To change: set --address/,
    );
    expect(code).toBe(1);
    expect(await leavesNothing()).toBe(true);
  }, 120_000);

  test('removes what it made when it is interrupted', async () => {
    const { ended, interrupt } = doctor(['--hold', '10m']);
    expect(await eventually(async () => (await left()).includes('httproute'))).toBe(true);
    interrupt();
    expect(await ended).toEqual({ code: 130, stdout: '', stderr: '' });
    expect(await leavesNothing()).toBe(true);
  }, 120_000);

  test('names the setting for an image without Node, and for a user without rights', async () => {
    const withoutNode = await doctor(['--image', 'porthole.test/busybox:1']).ended;
    expect(withoutNode).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /does not run porthole\.test\/busybox:1 .*set --image to an image with Node/,
      ),
    });
    const user = ['--serviceaccount', `${namespace}:default`];
    await here.kubectl(['create', 'clusterrole', namespace, '--verb=get,list', '--resource=gateways']);
    await here.kubectl(['create', 'clusterrolebinding', namespace, `--clusterrole=${namespace}`, ...user]);
    try {
      const token = (await here.kubectl(['create', 'token', 'default', `--namespace=${namespace}`])).trim();
      writeFileSync(limitedKubeconfig, await asUser(token), { mode: 0o600 });
      expect(await doctor([], settings(), limitedKubeconfig).ended).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/refuses pods in namespace doctor-\w+ .*ask for the right to create/),
      });
    } finally {
      await here.kubectl(['delete', `clusterrole/${namespace}`, `clusterrolebinding/${namespace}`]);
    }
    expect(await leavesNothing()).toBe(true);
  }, 120_000);

  /** The settings and the Deployment of a stack, without pods. */
  function installation(): object {
    const config = readStackConfig(
      values(
        stackFile({
          'porthole:gateway': {
            existing: { ...FIXTURE_GATEWAY, sectionName: 'https' },
            podNamespace: 'traefik',
            podLabels: { app: 'traefik' },
          },
          'porthole:certificates': {},
          'porthole:functions': { image: SANDBOX_IMAGE },
          'porthole:namespaces': { functions: namespace },
        }),
      ),
      () => true,
    );
    const { metadata, spec } = deploymentPlan(config);
    const items = [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: ENVIRONMENT_NAME, namespace },
        data: environmentPlan(config),
      },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { ...spec, replicas: 0 } },
    ];
    return { apiVersion: 'v1', kind: 'List', items };
  }

  async function asUser(token: string): Promise<string> {
    const shown = await here.kubectl(['config', 'view', '--raw', '--output=json']);
    const config = JSON.parse(shown) as { users: { name: string; user: object }[] };
    const users = config.users.map(({ name }) => ({ name, user: { token } }));
    return JSON.stringify({ ...config, users });
  }
});
