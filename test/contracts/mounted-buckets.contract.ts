/** Mounts of buckets, as the callers of a host see them. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startHostProcess } from '#test/support/host-process.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type S3Server, startS3 } from '#test/support/seaweedfs.ts';
import { ALICE, PEOPLE, SERVICE_KEY } from '#test/host/support/people.ts';

/** The kind of sandboxes of a host. */
export interface BucketHost {
  readonly settings: Readonly<Record<string, string>>;
  end(): Promise<void>;
}

/** `open` returns the settings of a host with one kind of sandboxes. */
export function mountedBucketsContract(open: () => Promise<BucketHost>): void {
  let s3: S3Server;
  let harness: BucketHost;
  let porthole: TestHost;
  let credentials: { accessKeyId: string; secretAccessKey: string };
  let environment: Record<string, string>;
  const id = 'mountsandbox';
  beforeAll(async () => {
    harness = await open();
    s3 = await startS3();
    await s3.request('PUT', '/data');
    credentials = { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
    environment = {
      ...PEOPLE,
      ...harness.settings,
      PORTHOLE_BUCKETS: JSON.stringify({
        TEAM: {
          bucket: 'data',
          endpoint: s3.endpoint,
          prefix: '/team',
          access_key_id: s3.accessKeyId,
          secret_access_key: s3.secretAccessKey,
          open_to: [{ org: 'acme' }],
        },
        READ: {
          bucket: 'data',
          endpoint: s3.endpoint,
          read_only: true,
          open_to: [{ org: 'acme', user: 'alice' }],
        },
        OPERATORS: { bucket: 'data', endpoint: s3.endpoint },
      }),
      AWS_ACCESS_KEY_ID: s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    };
    porthole = await startTestHost(environment);
  }, 120_000);
  afterEach(async () => {
    for (const path of mounted) await unmount(path);
  });
  afterAll(async () => {
    await remove();
    await porthole.end();
    await s3.stop();
    await harness.end();
  });

  /** Where a bucket may be mounted. */
  const mounted = new Set<string>();
  const mount = (body: { readonly mountPath: string; readonly [field: string]: unknown }, token = ALICE) => {
    mounted.add(body.mountPath);
    return porthole.call('POST', `/v1/sandbox/${id}/mount`, { token, body });
  };
  const unmount = (mountPath: string) => {
    mounted.delete(mountPath);
    return porthole.call('POST', `/v1/sandbox/${id}/unmount`, { token: ALICE, body: { mountPath } });
  };
  const remove = () => {
    mounted.clear();
    return porthole.call('DELETE', `/v1/sandbox/${id}`, { token: ALICE });
  };

  /** The stdout of a command. */
  async function run(script: string, port = porthole.host.port): Promise<string> {
    const answer = await call(port, 'POST', `/v1/sandbox/${id}/exec`, {
      token: ALICE,
      body: { argv: ['sh', '-c', script], timeout_ms: 20_000 },
    });
    const events = [...answer.text.matchAll(/event: stdout\ndata: (.*)\n/g)];
    return events.map(([, data = '']) => Buffer.from(data, 'base64').toString()).join('');
  }

  test.each(['bucket', 'binding'])('mounts a binding by its name in `%s`, and unmounts it', async (field) => {
    const answer = await mount({ [field]: 'TEAM', mountPath: '/mnt/team', options: {} });
    expect([answer.status, answer.text]).toEqual([200, '{"ok":true}']);
    await run(`echo ${field} > /mnt/team/${field}.txt`);
    expect(await s3.read(`/data/team/${field}.txt`)).toBe(`${field}\n`);
    const done = await unmount('/mnt/team');
    expect([done.status, done.text]).toEqual([200, '{"ok":true}']);
    expect(await run('ls /mnt')).toBe('');
    expect((await unmount('/mnt/team')).json()).toMatchObject({
      error: 'unmount failed: No active mount found at path: /mnt/team',
      code: 'unmount_error',
    });
  });

  test('keeps a read-only binding read-only whatever is requested, with the keys of the environment', async () => {
    await s3.request('PUT', '/data/kept', 'kept');
    await mount({ binding: 'READ', mountPath: '/workspace/new/folder', options: { readOnly: false } });
    expect(await run('cat /workspace/new/folder/kept; rm /workspace/new/folder/kept || echo no')).toBe(
      'keptno\n',
    );
    await unmount('/workspace/new/folder');
    expect(await run('ls -A /workspace/new')).toBe('');
  });

  test('mounts a binding only for those it is open to, and for admins', async () => {
    await porthole.call('GET', `/v1/sandbox/${id}/running`, { token: ALICE });
    const body = { binding: 'OPERATORS', mountPath: '/mnt/operators', options: {} };
    const refused = await mount(body);
    expect([refused.status, refused.json()]).toMatchObject([403, { code: 'forbidden' }]);
    expect((await mount(body, SERVICE_KEY)).status).toBe(200);
  });

  test('mounts from any server for the service, and only from listed servers for a user', async () => {
    await porthole.call('GET', `/v1/sandbox/${id}/running`, { token: ALICE });
    const body = { bucket: 'data', mountPath: '/mnt/own', options: { endpoint: s3.endpoint, credentials } };
    expect((await mount(body)).json()).toMatchObject({ code: 'forbidden' });
    expect((await mount(body, SERVICE_KEY)).status).toBe(200);
  });

  test('leaves nothing in the sandbox or in the log after a failure', async () => {
    const options = {
      endpoint: s3.endpoint,
      credentials: { accessKeyId: 'unknown', secretAccessKey: 'never-log-this-key' },
    };
    await porthole.call('GET', `/v1/sandbox/${id}/running`, { token: ALICE });
    const answer = await mount({ bucket: 'data', mountPath: '/workspace/gone', options }, SERVICE_KEY);
    expect(answer.status).toBe(502);
    expect(answer.json()).toMatchObject({
      error: `mount failed: the S3 server at ${s3.endpoint} refuses the credentials`,
      code: 'mount_error',
    });
    expect(await run('ls -d /workspace/gone || echo none')).toBe('none\n');
    expect(porthole.logged.join('')).not.toContain('never-log-this-key');
    expect(porthole.logged.join('')).not.toContain(s3.secretAccessKey);
  });

  test('leaves the files of a mounted bucket out of an archive of the workspace', async () => {
    await mount({ bucket: 'TEAM', mountPath: '/workspace/team', options: {} });
    await run('echo > /workspace/team/of-the-bucket; echo > /workspace/of-the-sandbox');
    const { text } = await porthole.call('POST', `/v1/sandbox/${id}/persist`, { token: ALICE });
    expect(text).toContain('./of-the-sandbox');
    expect(text).not.toContain('of-the-bucket');
  });

  test('deleting a sandbox leaves the bucket as it is', async () => {
    await mount({ bucket: 'TEAM', mountPath: '/workspace/team', options: {} });
    await run('echo stays > /workspace/team/stays.txt');
    expect((await remove()).status).toBe(204);
    expect(await s3.read('/data/team/stays.txt')).toBe('stays\n');
  });

  test('blocks only readers of a silent server’s files, not the host and not the deletion', async () => {
    const line = await silentLine(s3.port);
    try {
      await porthole.call('GET', `/v1/sandbox/${id}/running`, { token: ALICE });
      const options = { endpoint: `http://127.0.0.1:${line.port}`, credentials };
      expect((await mount({ bucket: 'data', mountPath: '/mnt/slow', options }, SERVICE_KEY)).status).toBe(
        200,
      );
      line.fallSilent();
      const reading = run('echo begun > /workspace/begun; ls /mnt/slow/never');
      while ((await run('cat /workspace/begun')) !== 'begun\n');
      expect((await porthole.call('GET', '/health')).status).toBe(200);
      expect((await remove()).status).toBe(204);
      await reading;
    } finally {
      await line.close();
    }
  }, 30_000);

  test('leaves no mount and no mount server behind when a host is killed, and mounts anew on the next host', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'porthole-mounts-'));
    const first = await startHostProcess({ dataDir, environment });
    const body = { bucket: 'TEAM', mountPath: '/mnt/team', options: {} };
    const path = `/v1/sandbox/${id}/mount`;
    expect((await call(first.port, 'POST', path, { token: ALICE, body })).status).toBe(200);
    const servers = serversOf(s3.endpoint);
    expect(servers).toHaveLength(1);
    await first.end('SIGKILL');
    while (servers.some((pid) => cmdline(pid).startsWith('s3fs'))) await setTimeout(10);
    const second = await startHostProcess({ dataDir, environment });
    expect(await run('ls /mnt/team; grep -c fuse /proc/self/mountinfo', second.port)).toBe('0\n');
    expect((await call(second.port, 'POST', path, { token: ALICE, body })).status).toBe(200);
    await run('echo anew > /mnt/team/anew', second.port);
    expect(await s3.read('/data/team/anew')).toBe('anew\n');
    await call(second.port, 'DELETE', `/v1/sandbox/${id}`, { token: ALICE });
    expect(second.output() + first.output()).not.toContain(s3.secretAccessKey);
    await second.end();
    expect(serversOf(s3.endpoint)).toEqual([]);
    await rm(dataDir, { recursive: true });
  }, 60_000);
}

/** The s3fs processes connected to a server. */
function serversOf(endpoint: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    const words = cmdline(pid);
    return words.startsWith('s3fs') && words.includes(endpoint);
  });
}

function cmdline(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** A connection to a server that can be cut without either end noticing. */
async function silentLine(
  to: number,
): Promise<{ readonly port: number; fallSilent(): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server: Server = createServer((incoming) => {
    sockets.add(incoming);
    incoming.on('error', () => {});
    if (isSilent) return;
    const outgoing = connect(to, '127.0.0.1');
    sockets.add(outgoing);
    outgoing.on('error', () => {});
    incoming.pipe(outgoing).pipe(incoming);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    fallSilent() {
      isSilent = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
