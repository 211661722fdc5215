import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { suite } from '#test/support/suite.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { GATEWAY_ZONE } from './fixture/fixture-plan.ts';
import { FIXTURE_GATEWAY } from './fixture/objects.ts';

const MAIN = join(import.meta.dirname, '../../examples/cdk8s/main.ts');
const NAMESPACE = `cdk8s-${process.pid}`;
const HOST = `cdk8s${process.pid}-preview.${GATEWAY_ZONE}`;

suite('the cdk8s example on a cluster', missing(), () => {
  let here: Cluster;
  let folder: string;

  beforeAll(async () => {
    here = await cluster();
    folder = await mkdtemp(join(tmpdir(), 'porthole-cdk8s-'));
    const { name, namespace } = FIXTURE_GATEWAY;
    await promisify(execFile)(process.execPath, [MAIN], {
      cwd: folder,
      env: {
        ...process.env,
        IMAGE: BUSYBOX_IMAGE,
        NAMESPACE,
        GATEWAY: `${namespace}/${name}`,
        PREVIEW_HOST: HOST,
      },
    });
    await here.kubectl(['create', 'namespace', NAMESPACE]);
  }, 60_000);
  afterAll(async () => {
    await here.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait=false']);
    await rm(folder, { recursive: true });
  });

  async function fetchPage(): Promise<{ status: number | undefined; body: string }> {
    const { host, port } = here.gateway.https;
    const ca = readFileSync(here.gateway.caFile);
    return new Promise((resolve, reject) => {
      const options = { host, port, ca, servername: HOST, headers: { host: HOST }, agent: false };
      request(options, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
      })
        .once('error', reject)
        .end();
    });
  }

  test('has limits that an API server accepts', async () => {
    const manifests = readFileSync(join(folder, 'dist/limits.k8s.yaml'), 'utf8');
    // A dry run: the policy is cluster-scoped.
    const applied = await here.kubectl(
      ['apply', '--server-side', '--dry-run=server', '--filename=-'],
      manifests,
    );
    expect(applied.split('\n').filter((line) => line.includes('-preview-ports')).length).toBeGreaterThan(2);
  });

  test('serves its page through the Gateway', async () => {
    const manifests = readFileSync(join(folder, 'dist/hello.k8s.yaml'), 'utf8');
    await here.kubectl(['apply', '--server-side', '--filename=-'], manifests);
    const ready = ['wait', `--namespace=${NAMESPACE}`, 'deployment/hello', '--for=condition=Available'];
    await here.kubectl([...ready, '--timeout=60s']);
    // The gateway receives route and endpoints a moment later.
    let answer = await fetchPage();
    for (const until = Date.now() + 10_000; answer.status !== 200 && Date.now() < until; await pause(50)) {
      answer = await fetchPage();
    }
    expect(answer).toEqual({ status: 200, body: 'Hello through the porthole\n' });
  }, 90_000);
});
