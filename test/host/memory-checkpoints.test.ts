/** Checkpoints that keep processes and their memory: in gVisor. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { stopUnlessUsed } from '#core/sandboxes/resume-sandbox.ts';
import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { execute } from '#test/host/support/commands.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';

/** Counts requests in its memory, and tells its number before and its process. */
const COUNTER = `let n = 0; require('http').createServer((q, answer) =>
  answer.end(JSON.stringify({ n: ++n, pid: process.pid }))).listen(3000, '127.0.0.1')`;

const LIMIT_MIB = 200;

interface Made {
  readonly id: string;
  readonly memory: boolean;
  readonly stored_bytes: number;
  readonly consistent: boolean;
  readonly servers: object[];
}

suite('checkpoints with memory', missingFor('gvisor'), () => {
  let porthole: TestHost;
  let id = '';
  beforeAll(async () => {
    porthole = await startTestHost({
      PORTHOLE_ISOLATION: 'gvisor',
      PORTHOLE_RUNSC: runsc,
      PORTHOLE_CHECKPOINTS_MIB: String(LIMIT_MIB),
    });
    id = (await ask<{ id: string }>('POST', '/v1/sandbox', {})).id;
    await ask('PUT', `/v1/sandbox/${id}/servers/counter`, { argv: ['node', '-e', COUNTER], port: 3000 });
    await ask('POST', `/v1/sandbox/${id}/ports/3000/wait`, {});
  }, 60_000);
  afterAll(() => porthole?.end());

  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await porthole.call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.status === 204 ? (undefined as T) : answer.json<T>();
  };
  const shell = async (of: string, script: string) => {
    const { stdout } = await execute(porthole, of, ['sh', '-c', script]);
    return stdout.toString().trim();
  };
  const count = async (of: string) => {
    const argv = ['node', '-e', `fetch('http://127.0.0.1:3000').then((r) => r.text()).then(console.log)`];
    return JSON.parse((await execute(porthole, of, argv)).stdout.toString()) as { n: number; pid: number };
  };
  const path = () => `/v1/sandbox/${id}/checkpoints`;
  const take = (body: object = {}) => ask<Made>('POST', path(), body);
  const fork = (checkpoint: string, body: object = {}) =>
    ask<{ sandboxes: { id: string; memory: boolean; memory_error?: string }[]; errors: object[] }>(
      'POST',
      `${path()}/${checkpoint}/fork`,
      body,
    );
  const image = (checkpoint: string) =>
    readdirSync(join(porthole.dataDir, 'checkpoints'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(`${checkpoint}.memory`))
      .map((name) => join(porthole.dataDir, 'checkpoints', name));

  test('forks go on from the number of the original, each with its identity', async () => {
    const { limits } = await ask<{ limits: object }>('GET', `/v1/sandbox/${id}`);
    expect(limits).toMatchObject({ checkpoint: { memory: true } });
    const { n, pid } = await count(id);
    await shell(id, 'echo in-memory > /tmp/kept; echo on-disk > kept');
    const made = await take({ memory: true });
    expect(made).toMatchObject({ memory: true, consistent: true, servers: [{ name: 'counter' }] });
    expect(made.stored_bytes).toBeGreaterThan(10 * 2 ** 20);
    // The original goes on.
    expect(await count(id)).toEqual({ n: n + 1, pid });
    const { sandboxes, errors } = await fork(made.id, { count: 2 });
    expect(errors).toEqual([]);
    for (const each of sandboxes) {
      expect(each).toMatchObject({ memory: true });
      expect(each.memory_error).toBeUndefined();
      expect(await count(each.id)).toEqual({ n: n + 1, pid });
      expect(await shell(each.id, 'echo $SANDBOX_ID; hostname; cat /tmp/kept kept')).toBe(
        `${each.id}\n${each.id.slice(0, 63)}\nin-memory\non-disk`,
      );
      const { servers } = await ask<{ servers: object[] }>('GET', `/v1/sandbox/${each.id}/servers`);
      expect(servers).toMatchObject([{ name: 'counter', state: 'ready', restarts: 0 }]);
    }
    expect((await count(id)).n).toBe(n + 2);
    const [first] = sandboxes;
    // Its memory, which gVisor may still be reading, can be saved as well.
    const again = await ask<Made>('POST', `/v1/sandbox/${first?.id}/checkpoints`, { memory: true });
    expect(again.memory).toBe(true);
    // Without memory its server starts, and counts from the beginning.
    const plain = await fork(made.id, { memory: false });
    expect(plain.sandboxes).toMatchObject([{ memory: false }]);
    await ask('POST', `/v1/sandbox/${plain.sandboxes[0]?.id}/ports/3000/wait`, {});
    expect((await count(plain.sandboxes[0]?.id ?? '')).n).toBe(1);
    // A fork can be stopped and started again: from its files.
    await ask('POST', `/v1/sandbox/${first?.id}/stop`, {});
    await ask('POST', `/v1/sandbox/${first?.id}/resume`, {});
    await ask('POST', `/v1/sandbox/${first?.id}/ports/3000/wait`, {});
    expect((await count(first?.id ?? '')).n).toBe(1);
    for (const { id: each } of [...sandboxes, ...plain.sandboxes]) await ask('DELETE', `/v1/sandbox/${each}`);
    expect(image(made.id)).toHaveLength(1);
    await ask('DELETE', `${path()}/${made.id}`);
    expect(image(made.id)).toEqual([]);
  }, 60_000);

  test('a damaged image is found before anything uses it', async () => {
    const made = await take({ memory: true });
    const [file = ''] = image(made.id);
    const damaged = readFileSync(file);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
    for (const content of [damaged, damaged.subarray(0, -1), Buffer.alloc(0)]) {
      writeFileSync(file, content);
      const answer = await porthole.call('POST', `${path()}/${made.id}/fork`, { body: {} });
      expect([answer.status, answer.json<{ code: string }>().code]).toEqual([500, 'checkpoint_damaged']);
    }
    await ask('DELETE', `${path()}/${made.id}`);
  }, 60_000);

  test('memory that cannot be saved is refused with the reason, and auto does without', async () => {
    const refused = async (reason: RegExp) => {
      const answer = await porthole.call('POST', path(), { body: { memory: true } });
      expect([answer.status, answer.text]).toEqual([501, expect.stringMatching(reason)]);
      const made = await take();
      expect(made.memory).toBe(false);
      await ask('DELETE', `${path()}/${made.id}`);
    };
    const before = await count(id);
    const fill = `const kept = Buffer.alloc(${LIMIT_MIB} * 2 ** 20, 1); setInterval(() => kept, 1e6); console.log(1)`;
    const serve = (name: string, script: string) =>
      ask('PUT', `/v1/sandbox/${id}/servers/${name}`, { argv: ['node', '-e', script], port: 3001 });
    const away = (name: string) => ask('DELETE', `/v1/sandbox/${id}/servers/${name}`);
    await serve('large', `${fill}; require('net').createServer().listen(3001)`);
    await ask('POST', `/v1/sandbox/${id}/ports/3001/wait`, {});
    await refused(/MiB may be stored/);
    await away('large');
    await serve(
      'socket',
      `require('net').createServer().listen('s.sock', () =>
      require('net').createServer().listen(3001))`,
    );
    await ask('POST', `/v1/sandbox/${id}/ports/3001/wait`, {});
    await refused(/a program listens on a socket in \/workspace/);
    await away('socket');
    await shell(id, 'rm -f s.sock');
    expect(await count(id)).toEqual({ ...before, n: before.n + 1 });
  }, 60_000);

  const idleStop = async () => {
    const { services } = porthole.host;
    const record = await services.records.sandboxes.get(id);
    if (record === undefined) throw new Error('no record');
    expect(await stopUnlessUsed(services, record)).toBe(true);
    expect(await ask('GET', `/v1/sandbox/${id}`)).toMatchObject({ state: 'stopped' });
  };

  test('an unused sandbox stops with its memory, and goes on at its next use', async () => {
    const before = await count(id);
    await idleStop();
    expect(await count(id)).toEqual({ ...before, n: before.n + 1 });
    // By request it stops without.
    await ask('POST', `/v1/sandbox/${id}/stop`, {});
    await ask('POST', `/v1/sandbox/${id}/resume`, {});
    await ask('POST', `/v1/sandbox/${id}/ports/3000/wait`, {});
    expect((await count(id)).n).toBe(1);
  }, 60_000);

  test('memory that cannot be continued is given up, which the sandbox says', async () => {
    const hold = `require('fs').openSync('held', 'w'); require('net').createServer().listen(3001)`;
    await ask('PUT', `/v1/sandbox/${id}/servers/holds`, { argv: ['node', '-e', hold], port: 3001 });
    await ask('POST', `/v1/sandbox/${id}/ports/3001/wait`, {});
    await idleStop();
    rmSync(join(porthole.dataDir, 'sandboxes', id, 'workspace/held'));
    await ask('POST', `/v1/sandbox/${id}/resume`, {});
    await ask('POST', `/v1/sandbox/${id}/ports/3000/wait`, {});
    expect((await count(id)).n).toBe(1);
    const { memoryLost } = await porthole.host.services.sandboxes.inspect(id);
    expect(memoryLost).toContain('started from its files');
    expect(readdirSync(join(porthole.dataDir, 'sandboxes', id))).not.toContain('memory');
    await ask('DELETE', `/v1/sandbox/${id}/servers/holds`);
  }, 60_000);

  test('an unused sandbox of which memory cannot be saved stops, and says why', async () => {
    const bind = `require('net').createServer().listen('s.sock', () =>
      require('net').createServer().listen(3001))`;
    await ask('PUT', `/v1/sandbox/${id}/servers/binds`, { argv: ['node', '-e', bind], port: 3001 });
    await ask('POST', `/v1/sandbox/${id}/ports/3001/wait`, {});
    await idleStop();
    await ask('POST', `/v1/sandbox/${id}/resume`, {});
    const lost = async () => (await porthole.host.services.sandboxes.inspect(id)).memoryLost;
    expect(await lost()).toMatch(/^its memory could not be saved \(.+\), and it started from its files$/);
    await ask('DELETE', `/v1/sandbox/${id}/servers/binds`);
    await shell(id, 'rm -f s.sock');
    await ask('POST', `/v1/sandbox/${id}/stop`, {});
    await ask('POST', `/v1/sandbox/${id}/resume`, {});
    expect(await lost()).toBeUndefined();
  }, 60_000);

  test('a command that is attached is not ended', async () => {
    const command = execute(porthole, id, [
      'sh',
      '-c',
      'touch begun; until [ -e end ]; do sleep 0.05; done; echo whole',
    ]);
    while (!(await shell(id, 'ls')).includes('begun'));
    expect((await take()).memory).toBe(false);
    await shell(id, 'touch end');
    expect((await command).stdout.toString()).toBe('whole\n');
  }, 60_000);
});
