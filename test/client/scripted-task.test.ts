import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { python, pythonMissing, unpackWheel } from './support/python-environment.ts';

const ROOT = join(import.meta.dirname, '../..');
const TABLE = readFileSync(join(ROOT, 'docs/guides/scripted-task.md'), 'utf8');
/** A row: what it is written with, its file, its lines and its requests. */
const ROW = /^\| (.*?) \| `(.*?)` \| (\d+) \| (\d+) \|$/gm;
const rows = [...TABLE.matchAll(ROW)].map(([, , file = '', lines, requests]) => ({
  file,
  lines: Number(lines),
  requests: Number(requests),
}));

describe('the task that the docs compare', () => {
  let host: TestHost;
  let requests: string[];
  let address: string;
  const proxy = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    requests.push(`${method} ${url}`);
    const { port } = host.host;
    incoming.pipe(
      request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      }).on('error', () => outgoing.destroy()),
    );
  });

  beforeAll(async () => {
    host = await startTestHost({ ...PEOPLE, PORTHOLE_BROWSER: '/nonexistent/chromium' });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    requests = [];
  });
  afterAll(async () => {
    proxy.close();
    await host?.end();
  });

  /** Runs a script; returns what it printed after it has shown a log and then a link that works. */
  const run = async (program: string, file: string, more: Readonly<Record<string, string>> = {}) => {
    const env = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORTHOLE_URL: address,
      PORTHOLE_API_KEY: ALICE,
      ...more,
    };
    const { stdout } = await promisify(execFile)(program, [join(ROOT, file)], { env });
    const [fault, fixed] = [stdout.indexOf('SyntaxError'), stdout.lastIndexOf('-preview.localhost')];
    expect(fault).toBeGreaterThan(-1);
    expect(fixed).toBeGreaterThan(fault);
    const [link = ''] =
      /http:\/\/\S+-preview\.localhost:\d+/.exec(stdout.slice(stdout.lastIndexOf('http'))) ?? [];
    const page = await host.call('GET', '/', { host: new URL(link).host });
    expect(page.text).toBe('Hello');
  };

  /** What the table says of a script. */
  const claimed = (file: string) => {
    const row = rows.find((each) => each.file === file);
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
    expect([row?.lines, row?.requests]).toEqual([
      lines.filter((line) => line !== '').length,
      requests.length,
    ]);
    return row;
  };

  test('is compared in four ways', () => {
    expect(rows.map(({ file }) => file.replace(/.*\//, ''))).toEqual([
      'task.ts',
      'task.py',
      'task-over-mcp.ts',
      'task.sh',
    ]);
  });

  test('takes at most 12 lines of TypeScript', async () => {
    await run(process.execPath, 'examples/scripted-task/task.ts');
    expect(claimed('examples/scripted-task/task.ts')?.lines).toBeLessThanOrEqual(12);
  });

  test('takes the tools of MCP, with the token of an agent', async () => {
    const { agentToken } = await makeRun(host, ALICE, { auto_approve_tools: true });
    await run(process.execPath, 'examples/scripted-task/task-over-mcp.ts', { PORTHOLE_API_KEY: agentToken });
    claimed('examples/scripted-task/task-over-mcp.ts');
  });

  test('takes requests of curl', async () => {
    await run('/bin/sh', 'examples/scripted-task/task.sh');
    claimed('examples/scripted-task/task.sh');
  });

  test('needs no key where the server has none, and over MCP asks for the token', async () => {
    const keyless = await startTestHost({ PORTHOLE_BROWSER: '/nonexistent/chromium' });
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], PORTHOLE_URL: keyless.host.url };
    const start = (program: string, file: string) =>
      promisify(execFile)(program, [join(ROOT, 'examples/scripted-task', file)], { env });
    const { stdout } = await start('/bin/sh', 'task.sh');
    expect(stdout.slice(stdout.lastIndexOf('http'))).toMatch(/^http:\/\/\S+-preview\.localhost:\d+/);
    await expect(start(process.execPath, 'task-over-mcp.ts')).rejects.toThrow('Set PORTHOLE_API_KEY to the');
    await keyless.end();
  });

  suite('in Python', pythonMissing, () => {
    test('takes at most 12 lines of Python', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'porthole-task-'));
      await run(python, 'examples/scripted-task/task.py', await unpackWheel(folder));
      await rm(folder, { recursive: true });
      expect(claimed('examples/scripted-task/task.py')?.lines).toBeLessThanOrEqual(12);
    });
  });
});
