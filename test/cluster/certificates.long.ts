/**
 * Certificates of cert-manager on the Gateway as infra/ renders both: issued from an authority, and
 * renewed while a preview is open. `npm run test:all` runs it: cert-manager takes minutes to build.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { certificateManifests, gatewayManifest, parentReference } from '#constructs/gateway-manifests.ts';
import { suite } from '#test/support/suite.ts';
import { gatewayClient, type GatewayClient } from './end-to-end/gateway-client.ts';
import { buildProgram } from './fixture/build-program.ts';
import { authorityFiles, makeAuthority } from './fixture/certificate-authority.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { exclusive } from './fixture/exclusive.ts';
import { BUSYBOX_IMAGE } from './fixture/fixture-images.ts';
import { GATEWAY_CLASS } from './fixture/objects.ts';
import { buildName, cacheFolder, programsFolder } from './fixture/program-cache.ts';
import { CERT_MANAGER } from './fixture/programs.ts';

const MINUTE = 60_000;
const namespace = `certificates-${process.pid}`;
const zone = `${namespace}.preview.test`;
const PREVIEW = `token-preview.${zone}`;
const API = `api.${namespace}.test`;
const CA = 'authority';
const SECRETS = ['previews-tls', 'api-tls'] as const;

/** A page, and a stream of events without an end. */
const SERVER = `mkdir -p /tmp/www/cgi-bin && cd /tmp/www && echo page > index.html &&
printf '#!/bin/sh\\necho "Content-Type: text/event-stream"\\necho\\nwhile sleep 0.1; do echo "data: tick"; echo; done\\n' > cgi-bin/ticks &&
chmod +x cgi-bin/ticks && exec httpd -f -p 3000 -h /tmp/www`;

const props = {
  name: 'previews',
  namespace,
  className: GATEWAY_CLASS,
  zone,
  routesFrom: [namespace],
  secret: SECRETS[0],
  api: { host: API, routesFrom: [namespace], secret: SECRETS[1] },
  issuer: { name: CA, kind: 'Issuer' },
} as const;

suite('certificates of cert-manager', missing(), () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-certificates-'));
  const { certificate, key } = authorityFiles(folder);
  const cache = cacheFolder();
  const program = join(programsFolder(cache), buildName(CERT_MANAGER));
  const definitions = `--filename=${join(program, 'crds')}`;
  let fixture: Cluster;
  let manager: ChildProcess;
  let client: GatewayClient;

  const kubectl = (...args: string[]) => fixture.kubectl([`--namespace=${namespace}`, ...args]);
  const apply = (items: readonly object[]) =>
    fixture.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

  /** A connection to the Gateway that trusts the authority, and no other. */
  const open = async (servername: string): Promise<TLSSocket> => {
    const socket = connect({ ...fixture.gateway.https, servername, ca: readFileSync(certificate) });
    await once(socket, 'secureConnect');
    return socket;
  };
  const serial = async (servername: string): Promise<string> => {
    const socket = await open(servername);
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };

  beforeAll(async () => {
    fixture = await cluster();
    const say = (line: string) => void process.stdout.write(`${line}\n`);
    await exclusive(cache, say, () => buildProgram(CERT_MANAGER, cache, say));
    await Promise.all([makeAuthority(folder), fixture.kubectl(['apply', '--server-side', definitions])]);
    await fixture.kubectl(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s']);
    client = gatewayClient(fixture.gateway.https.host, certificate);
    manager = spawn(join(program, CERT_MANAGER.name), {
      env: { KUBECONFIG: fixture.kubeconfig },
      stdio: 'inherit',
    });
    await apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: CA, namespace },
        stringData: { 'tls.crt': readFileSync(certificate, 'utf8'), 'tls.key': readFileSync(key, 'utf8') },
      },
      {
        apiVersion: 'cert-manager.io/v1',
        kind: 'Issuer',
        metadata: { name: CA, namespace },
        spec: { ca: { secretName: CA } },
      },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'app', namespace, labels: { app: 'app' } },
        spec: { containers: [{ name: 'app', image: BUSYBOX_IMAGE, command: ['sh', '-c', SERVER] }] },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'app', namespace },
        spec: { selector: { app: 'app' }, ports: [{ port: 80, targetPort: 3000 }] },
      },
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: { name: 'app', namespace },
        spec: {
          parentRefs: [parentReference(props)],
          hostnames: [PREVIEW, API],
          rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
        },
      },
      gatewayManifest(props),
      ...certificateManifests(props),
    ]);
  }, 15 * MINUTE);
  afterAll(async () => {
    manager?.kill();
    await client?.close();
    await fixture?.kubectl(['delete', 'namespace', namespace, '--ignore-not-found']);
    await fixture?.kubectl(['delete', definitions, '--ignore-not-found', '--wait=false']);
    rmSync(folder, { recursive: true });
  }, MINUTE);

  test(
    'serve the previews and the API, issued from the authority',
    async () => {
      await kubectl('wait', 'certificate', '--all', '--for=condition=Ready', '--timeout=90s');
      for (const host of [PREVIEW, API]) {
        for (const deadline = Date.now() + MINUTE; ; await pause(200)) {
          const status = await client.fetch(`https://${host}/`).then(
            (answer) => answer.status,
            (error: Error) => String(error.cause),
          );
          if (status === 200 || Date.now() > deadline) {
            expect([host, status]).toEqual([host, 200]);
            break;
          }
        }
      }
    },
    4 * MINUTE,
  );

  test(
    'are renewed without the end of a connection, and without a failed request',
    async () => {
      const before = await Promise.all([PREVIEW, API].map(serial));
      const stream = await open(PREVIEW);
      let ticks = 0;
      stream.on('data', (data: Buffer) => (ticks += data.toString().split('tick').length - 1));
      stream.write(`GET /cgi-bin/ticks HTTP/1.1\r\nHost: ${PREVIEW}\r\n\r\n`);
      const failures: unknown[] = [];
      const renewed = new AbortController();
      const visitor = (async () => {
        while (!renewed.signal.aborted) {
          const answer = await client
            .fetch(`https://${PREVIEW}/`)
            .catch((error: unknown) => failures.push(error));
          if (typeof answer === 'object' && answer.status !== 200) failures.push(answer.status);
          await pause(50);
        }
      })();
      for (const name of SECRETS) await renew(name);
      const isNew = async () =>
        (await Promise.all([PREVIEW, API].map(serial))).every((each, at) => each !== before[at]);
      for (const deadline = Date.now() + MINUTE; !(await isNew()); await pause(200)) {
        if (Date.now() > deadline) throw new Error('the Gateway still serves the old certificates');
      }
      const since = ticks;
      for (const deadline = Date.now() + 10_000; ticks < since + 5 && Date.now() < deadline; )
        await pause(50);
      renewed.abort();
      await visitor;
      expect({ failures, ended: stream.destroyed || stream.readableEnded }).toEqual({
        failures: [],
        ended: false,
      });
      expect(ticks).toBeGreaterThanOrEqual(since + 5);
      stream.destroy();
    },
    4 * MINUTE,
  );

  /** As `cmctl renew` does: a condition of the Certificate, which its controllers act on. */
  async function renew(name: string): Promise<void> {
    const condition = {
      type: 'Issuing',
      status: 'True',
      reason: 'ManuallyTriggered',
      message: 'renewed by the test',
      lastTransitionTime: new Date().toISOString(),
    };
    const patch = [{ op: 'add', path: '/status/conditions/-', value: condition }];
    await kubectl(
      'patch',
      'certificate',
      name,
      '--subresource=status',
      '--type=json',
      `--patch=${JSON.stringify(patch)}`,
    );
  }
});
