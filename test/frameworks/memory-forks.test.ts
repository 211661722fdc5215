/** A dev server that goes on in forks of a checkpoint with memory. */
import { cp } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { ownerOf } from '#adapters/local/drop-root.ts';
import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { packagesFolder, packagesMissing, PROJECTS } from './framework-cache.ts';
import { selectFrameworks } from './framework-table.ts';

const PORT = 5173;
const ARGV = ['node', 'node_modules/vite/bin/vite.js', '--host', '127.0.0.1', '--strictPort'];

const [vite] = selectFrameworks(['vite']);
const missing = missingFor('gvisor') ?? (vite === undefined ? 'Vite is not listed' : packagesMissing(vite));

suite('Vite in forks with memory', missing, () => {
  let porthole: TestHost;
  let original = '';
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await porthole.call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json<T>();
  };
  const dial = (id: string) => porthole.host.services.sandboxes.dial(id, PORT);
  const get = async (id: string, path: string): Promise<string> => {
    const stream = await dial(id);
    stream.write(`GET ${path} HTTP/1.0\r\nHost: localhost:${PORT}\r\nAccept: */*\r\n\r\n`);
    return text(stream);
  };
  const write = (id: string, heading: string) =>
    porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/src/heading.js`, {
      body: `export default '${heading}';\n`,
    });
  /** A client of hot reload, and its next message of a type. */
  const connect = async (id: string) => {
    const [, token = ''] = /wsToken = "([^"]+)"/.exec(await get(id, '/@vite/client')) ?? [];
    const stream = await dial(id);
    const socket = new WebSocket(`ws://localhost:${PORT}/?token=${token}`, 'vite-hmr', {
      createConnection: () => stream as never,
    });
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const message = (type: string) =>
      new Promise<string>((resolve) =>
        socket.on('message', (data: Buffer) => {
          if ((JSON.parse(data.toString()) as { type: string }).type === type) resolve(data.toString());
        }),
      );
    await message('connected');
    return { socket, closed, message };
  };

  beforeAll(async () => {
    porthole = await startTestHost({ PORTHOLE_ISOLATION: 'gvisor', PORTHOLE_RUNSC: runsc });
    original = (await ask<{ id: string }>('POST', '/v1/sandbox', {})).id;
    const workspace = join(porthole.dataDir, 'sandboxes', original, 'workspace');
    for (const folder of [packagesFolder('vite'), join(PROJECTS, 'vite')]) {
      await cp(folder, workspace, { recursive: true });
    }
    const owner = ownerOf(original);
    if (owner !== undefined) execFileSync('chown', ['-hR', `${owner}:${owner}`, workspace]);
    await ask('PUT', `/v1/sandbox/${original}/servers/web`, { argv: ARGV, port: PORT });
    await ask('POST', `/v1/sandbox/${original}/ports/${PORT}/wait`, {});
  }, 120_000);
  afterAll(() => porthole?.end());

  test('serves the page, and its clients of hot reload connect again', async () => {
    for (const path of ['/src/main.js', '/src/heading.js']) {
      expect(await get(original, path)).toMatch(/heading|First version/);
    }
    const client = await connect(original);
    const path = `/v1/sandbox/${original}/checkpoints`;
    const made = await ask<{ id: string; consistent: boolean }>('POST', path, { memory: true });
    expect(made.consistent).toBe(true);
    // Saving closes connections of the host: the client sees it, and connects again.
    await client.closed;
    const again = await connect(original);
    const { sandboxes } = await ask<{ sandboxes: { id: string; memory: boolean }[] }>(
      'POST',
      `${path}/${made.id}/fork`,
      {},
    );
    expect(sandboxes).toMatchObject([{ memory: true }]);
    const fork = sandboxes[0]?.id ?? '';
    expect(await get(fork, '/')).toContain('<title>Vite</title>');

    const forked = await connect(fork);
    const messages: string[] = [];
    again.socket.on('message', (data: Buffer) => messages.push(data.toString()));
    const update = forked.message('update');
    await write(fork, 'Of the fork');
    expect(await update).toContain('/src/heading.js');
    expect(await get(fork, '/src/heading.js')).toContain('Of the fork');
    expect(await get(original, '/src/heading.js')).toContain('First version');
    const own = again.message('update');
    await write(original, 'Of the original');
    await own;
    expect(messages.filter((message) => message.includes('update'))).toHaveLength(1);
    expect(await get(fork, '/src/heading.js')).toContain('Of the fork');
    for (const { socket } of [again, forked]) socket.terminate();
  }, 120_000);
});
