/** Processes, servers, ports and changed files, through the client. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type FileChange, type OutputEvent, Porthole, type Sandbox } from '../../client/index.ts';

let host: TestHost;
let sandbox: Sandbox;
beforeAll(async () => {
  host = await startTestHost();
  sandbox = await new Porthole({ url: `http://127.0.0.1:${host.host.port}` }).sandboxes.create();
});
afterAll(() => host.end());

const printed = (events: readonly OutputEvent[]): string =>
  events.map((event) => (event.type === 'stdout' ? new TextDecoder().decode(event.data) : '')).join('');
async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test('follows a process from any cursor to its exit, and gives it input', async () => {
  const process = await sandbox.processes.start('read line; echo "got $line"; exit 3', {
    stdin: true,
    name: 'asks',
    env: { A: 'b' },
  });
  expect(process.info).toMatchObject({ name: 'asks', state: 'running', exit: null });
  await expect(process.wait({ timeoutMs: 1 })).rejects.toMatchObject({ code: 'wait_timed_out' });
  await process.input('hello\n', { eof: true });
  expect(await process.wait()).toMatchObject({ code: 3, reason: 'exited' });
  const events = await all(process.output());
  expect(events.map(({ type }) => type)).toEqual(['stdout', 'exit']);
  expect(printed(events)).toBe('got hello\n');
  expect(await all(process.output({ since: events[0]?.cursor }))).toEqual(events.slice(1));
  expect(printed(await all(process.output({ follow: false })))).toBe('got hello\n');
  await expect(process.input('more')).rejects.toMatchObject({ code: 'process_exited' });
  const again = await sandbox.processes.get(process.id);
  expect(again.info.exit?.code).toBe(3);
  await again.remove();
  await expect(sandbox.processes.get(process.id)).rejects.toMatchObject({ code: 'process_not_found' });
});

test('lists processes, and ends them by signals', async () => {
  const process = await sandbox.processes.start(['sleep', '600']);
  expect((await sandbox.processes.list()).map(({ id }) => id)).toContain(process.id);
  await process.signal('SIGINT');
  expect(await process.wait()).toMatchObject({ signal: 'SIGINT', reason: 'killed' });
});

test('declares a server, waits for its port, reads its logs and removes it', async () => {
  const page =
    'console.log("up"); require("http").createServer((_, r) => r.end("hi")).listen(process.env.PORT, "127.0.0.1")';
  const declared = await sandbox.servers.declare('web', ['node', '-e', page], {
    port: 3000,
    restart: 'always',
  });
  expect(declared).toMatchObject({ name: 'web', port: 3000, restart: 'always' });
  expect(await sandbox.ports.wait(3000)).toMatchObject({ state: 'listening', listener: { server: 'web' } });
  expect((await sandbox.ports.list()).map(({ port }) => port)).toContain(3000);
  await expect(sandbox.servers.declare('web', 'true')).rejects.toMatchObject({ code: 'server_exists' });
  expect((await sandbox.servers.list()).map(({ name }) => name)).toEqual(['web']);
  for await (const event of sandbox.servers.logs('web', { tail: 1 })) {
    expect(printed([event])).toBe('up\n');
    break;
  }
  expect(await sandbox.servers.stop('web')).toMatchObject({ state: 'stopped' });
  expect(await sandbox.ports.wait(3000, { state: 'closed' })).toMatchObject({ listener: null });
  await sandbox.servers.start('web');
  await sandbox.ports.wait(3000);
  expect((await sandbox.servers.restart('web')).name).toBe('web');
  await sandbox.servers.remove('web');
  await expect(sandbox.servers.get('web')).rejects.toMatchObject({ code: 'server_not_found' });
});

test('makes folders, leaves them out of a list, and searches files', async () => {
  const { files } = sandbox;
  await files.makeFolder('found/below');
  await files.write('found/a.txt', 'one\nTwo\n');
  const { entries } = await files.list('found', { depth: 2, skip: ['below'] });
  expect(entries.map(({ name }) => name)).toEqual(['a.txt']);
  expect(await files.search('two', { path: 'found' })).toEqual({
    matches: [{ path: '/workspace/found/a.txt', line: 2, text: 'Two' }],
    truncated: false,
  });
  expect((await files.search('two', { skip: ['found'] })).matches).toEqual([]);
});

test('tells which files change and go', async () => {
  const seen: FileChange[] = [];
  for await (const change of sandbox.files.watch()) {
    seen.push(change);
    if (change.type === 'ready') await sandbox.files.write('draft.md', 'words');
    else if (change.type === 'changed' && change.path.endsWith('/draft.md')) {
      await sandbox.files.move('draft.md', 'final.md');
      await sandbox.files.delete('final.md');
    } else if (change.type === 'deleted' && change.path.endsWith('/draft.md')) break;
  }
  const [written] = seen.filter(({ path, type }) => type === 'changed' && path === '/workspace/draft.md');
  expect(written?.file).toMatchObject({ type: 'file', size: 5 });
});
