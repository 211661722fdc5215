import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collection, PODS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { openClusterStreams } from '#adapters/kubernetes/sandboxes/cluster-streams.ts';
import { FORWARD_SUBPROTOCOL, PortStream } from '#adapters/kubernetes/sandboxes/port-stream.ts';
import { suite } from '#test/support/suite.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { fixturePlan } from './fixture/fixture-plan.ts';
import { isUp } from './fixture/bring-up.ts';
import { fixtureCluster } from './fixture/cluster.ts';
import { image } from './fixture/image.ts';
import { machineMissing } from './fixture/machine-missing.ts';
import { isAlive, machineProcesses } from './fixture/machine-processes.ts';
import { FIXTURE_GATEWAY, STORAGE_CLASS } from './fixture/objects.ts';
import { cacheFolder, isBuilt } from './fixture/program-cache.ts';
import { PROGRAMS } from './fixture/programs.ts';
import { fixtureProcesses, type Traces, traces } from './fixture/traces.ts';

const MINUTE = 60_000;
const cache = cacheFolder();
const folder = mkdtempSync(join(tmpdir(), 'porthole-fixture-test-'));
// A separate test cluster, beside the one that other suites may use.
const place = { runFolder: join(folder, 'cluster'), number: 1 };
const fixture = fixturePlan(place.number);
const cluster = fixtureCluster(place, cache);

function missing(): string | undefined {
  const built = PROGRAMS.every((program) => isBuilt(program, cache));
  return machineMissing(cache)[0] ?? (built ? undefined : 'its programs are not built: npm run cluster:up');
}

/**
 * Runs `up` or `down` for the cluster of this suite; kills it as soon as its output contains
 * `killedAt`.
 */
async function script(name: 'up' | 'down', killedAt?: string): Promise<{ status: unknown; output: string }> {
  const own = { PORTHOLE_CLUSTER_DIR: place.runFolder, PORTHOLE_CLUSTER_NUMBER: String(place.number) };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'fixture', `${name}.ts`)], {
    env: { ...process.env, KUBECONFIG: '', ...own },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const read = (text: string): void => {
    output += text;
    if (killedAt !== undefined && output.includes(killedAt)) child.kill('SIGKILL');
  };
  child.stdout.setEncoding('utf8').on('data', read);
  child.stderr.setEncoding('utf8').on('data', read);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { status: code ?? signal, output };
}

const ours = () => machineProcesses().filter(({ runFolder }) => runFolder === place.runFolder);

/** A page through the gateway's HTTPS listener, with a check of its certificate. */
async function page(hostname: string): Promise<{ status: number | undefined; body: string }> {
  const { https, caFile } = cluster.gateway;
  const outgoing = request({
    ...https,
    ca: readFileSync(caFile),
    servername: hostname,
    headers: { host: hostname },
    agent: false,
  });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }];
  response.setEncoding('utf8');
  let body = '';
  for await (const text of response) body += String(text);
  return { status: response.statusCode, body };
}

/**
 * Polls the page until its route is live, since no event reports it; returns the last answer after
 * ten seconds.
 */
async function livePage(hostname: string): Promise<{ status: number | undefined; body: string }> {
  for (const deadline = Date.now() + 10_000; ; await pause(50)) {
    const answer = await page(hostname);
    if (answer.status === 200 || Date.now() > deadline) return answer;
  }
}

const hostname = 'web.preview.test';

/** A restricted pod that serves a page from a volume, with its Service and its route. */
const web = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'web' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: {
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'web',
            image: BUSYBOX_IMAGE,
            command: ['sh', '-c', 'echo a page > /data/index.html && exec httpd -f -p 3000 -h /data'],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            resources: { limits: { cpu: '500m', memory: '64Mi' } },
            readinessProbe: { tcpSocket: { port: 3000 }, periodSeconds: 1 },
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'web' } }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web-service' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 3000 }] },
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'web' },
      spec: {
        parentRefs: [
          { name: FIXTURE_GATEWAY.name, namespace: FIXTURE_GATEWAY.namespace, sectionName: 'https' },
        ],
        hostnames: [hostname],
        rules: [{ backendRefs: [{ name: 'web-service', port: 80 }] }],
      },
    },
  ],
};

const noRefusedNamespace = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'names' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['namespaces'] },
          ],
        },
        validations: [
          { expression: "object.metadata.name != 'refused'", message: 'no namespace of this name' },
        ],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'names' },
      spec: { policyName: 'names', validationActions: ['Deny'] },
    },
  ],
};

async function startWeb(): Promise<void> {
  await cluster.kubectl(['apply', '--filename=-'], JSON.stringify(web));
  await cluster.kubectl(['wait', 'pod/web', '--for=condition=Ready', '--timeout=60s']);
}

const inPod = async (...argv: string[]): Promise<string> => cluster.kubectl(['exec', 'web', '--', ...argv]);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

suite('the test cluster, once it is up', missing(), () => {
  let before: Traces;
  let interrupted: ReturnType<typeof ours>;
  beforeAll(async () => {
    before = await traces();
    expect(await script('up', 'kube-apiserver')).toMatchObject({ status: 'SIGKILL' });
    interrupted = ours();
    expect(await script('up')).toMatchObject({ status: 0 });
    await startWeb();
  }, 3 * MINUTE);

  afterAll(async () => {
    await script('down');
  }, MINUTE);

  it('runs on the machine of an up that was interrupted, once that is run again', () => {
    // Before, a component may be among its processes: it has the command line of the process that
    // starts it until its own program begins.
    expect(interrupted).toEqual(expect.arrayContaining(ours()));
  });

  it('is left as it is by another up', async () => {
    const carriers = ours();
    expect(await script('up')).toMatchObject({ status: 0, output: expect.stringContaining('is up') });
    expect(ours()).toEqual(carriers);
    expect(carriers).toHaveLength(3);
  });

  it('serves a pod over HTTPS under the host name of its route, and nothing under another', async () => {
    expect(await livePage(hostname)).toEqual({ status: 200, body: 'a page\n' });
    expect(await page('other.preview.test')).toMatchObject({ status: 404 });
  });

  it('runs commands in a pod as the pod’s own user', async () => {
    expect(await inPod('id', '-u')).toBe('1000\n');
  });

  it('keeps what a non-root pod writes to its claim when the pod is replaced', async () => {
    await inPod('sh', '-c', 'echo kept > /data/note');
    await cluster.kubectl(['delete', 'pod', 'web', '--now']);
    await startWeb();
    expect(await inPod('cat', '/data/note')).toBe('kept\n');
    const claim = await cluster.kubectl(['get', 'pvc', 'web', '--output=jsonpath={.spec.storageClassName}']);
    expect(claim).toBe(STORAGE_CLASS);
  });

  it('resolves and routes Services from pods', async () => {
    expect(await inPod('wget', '-qO-', 'http://web-service.default.svc.cluster.local/')).toBe('a page\n');
  });

  it('lets pods reach the API server at its service address', async () => {
    const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
    const get = `wget -qO- --no-check-certificate --header "Authorization: Bearer $(cat ${token})"`;
    expect(await inPod('sh', '-c', `${get} https://${fixture.apiServiceAddress}/version`)).toContain(
      '"v1.34.4"',
    );
  });

  it('lets pods reach a listener of this machine', async () => {
    const server = createServer((_request, response) => response.end('from the host'));
    server.listen(0, cluster.hostAddress);
    try {
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      expect(await inPod('wget', '-qO-', `http://${cluster.hostAddress}:${port}/`)).toBe('from the host');
    } finally {
      server.close();
    }
  });

  it('forwards ports to servers that listen on IPv6 loopback alone', async () => {
    await inPod('httpd', '-p', '[::1]:3100', '-h', '/data');
    const streams = openClusterStreams(await readKubeconfig(cluster.kubeconfig));
    try {
      const path = `${collection(PODS, 'default').path}/web/portforward?ports=3100`;
      const socket = await streams.socket({ path, what: 'portforward' }, FORWARD_SUBPROTOCOL);
      const stream = new PortStream(socket, 'web', 3100);
      stream.end('GET /index.html HTTP/1.0\r\n\r\n');
      expect(await text(stream)).toMatch(/\r\n\r\na page\n$/);
    } finally {
      streams.close();
    }
  });

  it('runs an image that a suite has made', async () => {
    const file = join(folder, 'made.tar');
    const busybox = readFileSync('/bin/busybox');
    const root = [{ kind: 'file', path: 'busybox', mode: 0o755, content: busybox } as const];
    const reference = 'porthole.test/made:1';
    writeFileSync(
      file,
      image({ reference, root, entrypoint: ['/busybox', 'echo', 'made'], user: '1000:1000' }),
    );
    await cluster.importImage(file);
    await cluster.kubectl(['run', 'made', `--image=${reference}`, '--restart=Never']);
    await cluster.kubectl(['wait', 'pod/made', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s']);
    expect(await cluster.kubectl(['logs', 'made'])).toBe('made\n');
  });

  it('enforces RBAC', async () => {
    await expect(cluster.kubectl(['get', 'pods', '--as=mallory'])).rejects.toThrow('Forbidden');
  });

  it('enforces quotas', async () => {
    await cluster.kubectl(['create', 'namespace', 'counted']);
    const inNamespace = (...argv: string[]) => cluster.kubectl([...argv, '--namespace=counted']);
    await inNamespace('create', 'quota', 'none', '--hard=count/services=0');
    await inNamespace('wait', 'quota/none', '--for=jsonpath={.status.hard}', '--timeout=30s');
    await expect(inNamespace('create', 'service', 'clusterip', 'one', '--tcp=80')).rejects.toThrow(
      'exceeded quota',
    );
  });

  it('enforces admission policies', async () => {
    await cluster.kubectl(['apply', '--filename=-'], JSON.stringify(noRefusedNamespace));
    const create = ['create', 'namespace', 'refused', '--dry-run=server'];
    // A policy takes effect a moment after its creation, without an event.
    const refusal = async (): Promise<string> => {
      for (const deadline = Date.now() + 10_000; ; await pause(50)) {
        const answer = await cluster.kubectl(create).catch(String);
        if (answer.includes('denied request') || Date.now() > deadline) return answer;
      }
    };
    expect(await refusal()).toContain('no namespace of this name');
  });

  it(
    'is made anew by another up when a component has ended, pods and volumes included',
    async () => {
      const before = ours();
      const processes = fixtureProcesses(before, fixture.cgroup);
      const dns = processes.find(({ pid }) =>
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/coredns\0'),
      );
      if (dns === undefined) throw new Error('no CoreDNS runs');
      process.kill(dns.pid, 'SIGKILL');
      for (const deadline = Date.now() + 10_000; isUp(place) && Date.now() < deadline; ) await pause(20);
      expect(isUp(place)).toBe(false);
      expect(await script('up')).toMatchObject({ status: 0 });
      expect(ours()).not.toEqual(before);
      expect(processes.filter(isAlive)).toEqual([]);
      await startWeb();
    },
    3 * MINUTE,
  );

  it(
    'leaves no process, link, route, mount, cgroup, folder or kernel setting when it is taken down, pods and volumes included',
    async () => {
      expect((await traces()).links).not.toEqual(before.links);
      const processes = fixtureProcesses(ours(), fixture.cgroup);
      expect(processes.length).toBeGreaterThan(12);
      expect(await script('down')).toMatchObject({ status: 0 });
      expect(processes.filter(isAlive)).toEqual([]);
      expect(ours()).toEqual([]);
      expect(await traces()).toEqual(before);
      expect(() => readFileSync(place.runFolder)).toThrow('ENOENT');
    },
    2 * MINUTE,
  );
});

suite('taking the test cluster down', missing(), () => {
  afterAll(async () => {
    await script('down');
  }, MINUTE);

  describe.each(['writing keys', 'kubelet'])('after up was killed at “%s”', (moment) => {
    it(
      'leaves nothing either',
      async () => {
        const before = await traces();
        expect(await script('up', moment)).toMatchObject({ status: 'SIGKILL' });
        expect(await script('down')).toMatchObject({ status: 0 });
        expect(ours()).toEqual([]);
        expect(await traces()).toEqual(before);
      },
      2 * MINUTE,
    );
  });

  it('does nothing where there is no cluster', async () => {
    expect(await script('down')).toEqual({ status: 0, output: 'the test cluster is down\n' });
  });
});
