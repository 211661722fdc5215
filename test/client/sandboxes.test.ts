import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { collect } from '#test/support/collect.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type CommandEvent, CommandFailed, Porthole, tar, toStream } from '../../client/index.ts';
import type { Sandbox } from '../../client/resources/sandbox.ts';

describe('the client', () => {
  let host: TestHost;
  let porthole: Porthole;
  let sandbox: Sandbox;

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    porthole = new Porthole({ url: `http://127.0.0.1:${host.host.port}`, apiKey: ALICE });
    sandbox = await porthole.sandboxes.create({
      name: 'main-1',
      tags: { thread_id: '1', created_by: 'test' },
    });
  });
  afterAll(() => host.end());

  test('makes a sandbox, and finds it by id and by name', async () => {
    expect(sandbox.id).toMatch(/^[a-z2-7]{26}$/);
    expect((await porthole.sandboxes.find('main-1')).id).toBe(sandbox.id);
    const found = await porthole.sandboxes.find(sandbox.id);
    expect(found.info).toMatchObject({ id: sandbox.id, name: 'main-1', state: 'running', owner: 'alice' });
    await expect(porthole.sandboxes.find('unknown')).rejects.toMatchObject({
      code: 'sandbox_not_found',
      status: 404,
    });
  });

  test('lists by tags and state, page by page', async () => {
    const others = await Promise.all(
      ['2', '3'].map((session) =>
        porthole.sandboxes.create({ sessionKey: session, tags: { thread_id: '2', session_id: session } }),
      ),
    );
    const ids = async (options: Parameters<typeof porthole.sandboxes.list>[0]) =>
      (await collect(porthole.sandboxes.list(options))).map(({ id }) => id).toSorted();
    expect(await ids({ tags: { thread_id: '1' }, state: 'running' })).toEqual([sandbox.id]);
    expect(await ids({ tags: { thread_id: '2' }, pageSize: 1 })).toEqual(
      others.map(({ id }) => id).toSorted(),
    );
    expect(await ids({ tags: { thread_id: '2', session_id: '3' } })).toEqual([others[1]?.id]);
    expect(await ids({ state: 'stopped' })).toEqual([]);
    expect(await ids({ search: 'MAIN-', image: 'default', createdAfter: new Date(0) })).toEqual([sandbox.id]);
    expect(await ids({ search: 'main', createdBefore: new Date(0) })).toEqual([]);
    expect(await ids({ owner: 'bob' })).toEqual([]);
    const sorted = await collect(porthole.sandboxes.list({ sort: 'oldest', pageSize: 1 }));
    expect(sorted.map(({ id }) => id)[0]).toBe(sandbox.id);
    for (const other of others) await other.delete();
  });

  test('stops and resumes it', async () => {
    expect(await sandbox.stop()).toMatchObject({ state: 'stopped' });
    expect(await sandbox.resume()).toMatchObject({ state: 'running' });
    expect(sandbox.info).toMatchObject({ state: 'running' });
  });

  describe('of a command', () => {
    test('tells each piece as it comes, and how it ended', async () => {
      const events: CommandEvent[] = [];
      for await (const event of sandbox.exec(['sh', '-c', 'echo out; echo err >&2; exit 3']))
        events.push(event);
      const printed = (type: string) =>
        events.flatMap((event) =>
          event.type === type && event.type !== 'exit' ? [Buffer.from(event.data).toString()] : [],
        );
      expect([printed('stdout'), printed('stderr'), events.at(-1)]).toEqual([
        ['out\n'],
        ['err\n'],
        { type: 'exit', exitCode: 3 },
      ]);
    });

    test('collects what it says', async () => {
      const result = await sandbox.exec(['sh', '-c', 'echo ä; echo err >&2; exit 3']).collect();
      expect(result).toEqual({ exitCode: 3, stdout: 'ä\n', stderr: 'err\n', truncated: false });
    });

    test('keeps no more of it than configured', async () => {
      const result = await sandbox.exec(['sh', '-c', 'printf 0123456789; exit 0']).collect({ maxBytes: 4 });
      expect(result).toEqual({ exitCode: 0, stdout: '0123', stderr: '', truncated: true });
    });

    test('keeps a byte order mark, and no half of a character', async () => {
      const print = sandbox.exec(['printf', '%b', '\\0357\\0273\\0277a€€']);
      expect(await print.collect({ maxBytes: 9 })).toMatchObject({ stdout: '\uFEFFa€', truncated: true });
      await sandbox.files.write('bom.txt', '\uFEFFa');
      expect(await sandbox.files.text('bom.txt')).toBe('\uFEFFa');
    });

    test('gives its text, or fails', async () => {
      expect(await sandbox.exec(['pwd']).text()).toBe('/workspace\n');
      const failed = sandbox.exec(['sh', '-c', 'echo why >&2; exit 4']).text();
      await expect(failed).rejects.toThrow('sh ended with code 4: why');
      await expect(failed).rejects.toBeInstanceOf(CommandFailed);
    });

    test('says that it cannot begin', async () => {
      await expect(sandbox.exec(['pwd'], { cwd: '/etc' }).text()).rejects.toMatchObject({
        status: 403,
        code: 'invalid_request',
      });
      await expect(sandbox.exec(['no-such-program']).collect()).resolves.toMatchObject({ exitCode: 127 });
    });

    test('passes on directory, time limit and session', async () => {
      const session = await sandbox.sessions.create({ env: { GREETING: 'hello' } });
      await sandbox.exec(['sh', '-c', 'mkdir -p sub && cd sub && export PLACE=$PWD'], { session }).text();
      expect(await sandbox.exec(['sh', '-c', 'cd sub 2>/dev/null; echo $GREETING'], { session }).text()).toBe(
        'hello\n',
      );
      expect(await sandbox.exec(['pwd'], { cwd: '/workspace/sub' }).text()).toBe('/workspace/sub\n');
      const late = await sandbox.exec(['sleep', '60'], { timeoutMs: 50 }).collect();
      expect(late.stderr).toBe('Command timed out after 50ms\n');
      await sandbox.sessions.delete(session);
    });

    test('ends it when the reader stops, or its signal aborts', async () => {
      const script = 'echo $$; exec sleep 4242';
      for await (const event of sandbox.exec(['sh', '-c', script])) {
        expect(event.type).toBe('stdout');
        break;
      }
      const end = new AbortController();
      const reading = (async () => {
        for await (const _ of sandbox.exec(['sh', '-c', script], { signal: end.signal }))
          end.abort(new Error('enough'));
      })();
      await expect(reading).rejects.toThrow('enough');
      const left = 'until ! pgrep -f "sleep [4]242" >/dev/null; do sleep 0.05; done; echo none';
      expect(await sandbox.exec(['sh', '-c', left], { timeoutMs: 20_000 }).text()).toBe('none\n');
    });

    test('is read once', async () => {
      const command = sandbox.exec(['true']);
      await command.collect();
      await expect(command.collect()).rejects.toThrow('The output of a command can be read once');
    });

    test('gets all of a long output, in its order', async () => {
      const text = await sandbox.exec(['seq', '200000']).text();
      expect(text).toBe(Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(''));
    });
  });

  describe('of files', () => {
    test('writes and reads text, bytes and streams', async () => {
      await sandbox.files.write('a b/ü%.txt', 'grün');
      expect(await sandbox.files.text('/workspace/a b/ü%.txt')).toBe('grün');
      const bytes = new Uint8Array([0, 255, 10]);
      await sandbox.files.write('bytes', bytes);
      expect(await sandbox.files.bytes('bytes')).toEqual(bytes);
      await sandbox.files.write('stream', new Blob(['one', 'two']).stream());
      expect(await new Response(await sandbox.files.stream('stream')).text()).toBe('onetwo');
    });

    test('writes more than one request takes, as a stream, under any name', async () => {
      const piece = new Uint8Array(1_048_576).fill(120);
      const content = {
        'large/a stream "%22".bin': toStream(
          (async function* () {
            for (let at = 0; at < 40; at += 1) yield piece;
          })(),
        ),
        'large/a blob.bin': new Blob(Array.from({ length: 40 }, () => piece)),
        '/workspace/large/a text.txt': 'é'.repeat(20 * 1_048_576),
      };
      for (const [path, each] of Object.entries(content)) await sandbox.files.write(path, each);
      const listed = await sandbox.files.list('large');
      expect(listed.entries.map(({ name, size }) => [name, size])).toEqual([
        ['a blob.bin', 40 * 1_048_576],
        ['a stream "%22".bin', 40 * 1_048_576],
        ['a text.txt', 40 * 1_048_576],
      ]);
      await expect(sandbox.files.write('/etc/large', new Blob([piece]).stream())).rejects.toMatchObject({
        status: 403,
      });
    });

    test('says what is not there, and takes no path that would be another on its way', async () => {
      await expect(sandbox.files.text('none')).rejects.toMatchObject({
        status: 404,
        code: 'workspace_read_not_found',
      });
      await expect(sandbox.files.text('../a')).rejects.toThrow(
        'path must name a file without "." and ".." parts',
      );
    });

    test('writes many at once, lists them, and gets their folder', async () => {
      await sandbox.files.upload(
        { 'a/b.txt': 'b', 'c.bin': new Uint8Array([0, 255]) },
        { to: '/workspace/many' },
      );
      expect(await sandbox.files.bytes('many/c.bin')).toEqual(new Uint8Array([0, 255]));
      const { entries, truncated } = await sandbox.files.list('/workspace/many', { depth: 2 });
      expect(truncated).toBe(false);
      expect(entries.map(({ path, type, size }) => [path, type, size])).toEqual([
        ['/workspace/many/a', 'directory', null],
        ['/workspace/many/a/b.txt', 'file', 1],
        ['/workspace/many/c.bin', 'file', 2],
      ]);
      const archive = await new Response(
        await sandbox.files.download('/workspace/many', { format: 'zip' }),
      ).bytes();
      expect(Buffer.from(archive).toString('latin1', 0, 2)).toBe('PK');
    });

    test('puts an archive there, and gets one', async () => {
      const archive = tar([{ type: 'file', name: 'archived/a', size: 5, content: Buffer.from('hello') }]);
      await sandbox.files.hydrate(toStream(archive));
      expect(await sandbox.files.text('archived/a')).toBe('hello');
      const back = await new Response(await sandbox.files.persist({ excludes: ['a b'] })).bytes();
      const names = Buffer.from(back).toString('latin1');
      expect(names).toContain('./archived/a');
      expect(names).not.toContain('./a b');
    });
  });

  test('makes one before it is needed, and deletes what is not taken', async () => {
    const taken = porthole.sandboxes.prewarm();
    const unused = porthole.sandboxes.prewarm({ name: 'unused' });
    const warm = await taken.take();
    expect(await warm.exec(['echo', 'hi']).text()).toBe('hi\n');
    await taken.discard();
    await unused.discard();
    const { state, stop_reason: reason } = await warm.refresh();
    expect([state, reason satisfies string | null | undefined]).toEqual(['running', null]);
    await expect(porthole.sandboxes.find('unused')).rejects.toMatchObject({ status: 404 });
    await warm.delete();
  });

  test('keeps a sandbox at the end of its use, or deletes it, as requested', async () => {
    let kept: string;
    let deleted: string;
    {
      await using keeping = await porthole.sandboxes.create();
      await using deleting = await porthole.sandboxes.create({ onExit: 'delete' });
      [kept, deleted] = [keeping.id, deleting.id];
    }
    await expect(porthole.sandboxes.get(deleted)).rejects.toMatchObject({ status: 404 });
    await (await porthole.sandboxes.get(kept)).delete();
  });

  test('delegates nothing by itself', () => {
    expect(() => porthole.sandboxes.at(sandbox.id).sandboxConfig()).toThrow('There is nothing to delegate');
    expect(sandbox.sandboxConfig({ credential: 'delegated' })).toEqual({
      configurable: {
        sandbox: {
          sandbox_id: sandbox.id,
          credential: 'delegated',
          dataplane_url: `http://127.0.0.1:${host.host.port}/v1/sandbox/${sandbox.id}`,
        },
      },
    });
  });
});
