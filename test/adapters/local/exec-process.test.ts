/** The host's side against inits that are broken or hostile: a server of the test's own in the init's place. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { dialThroughInit } from '#adapters/local/dial-through-init.ts';
import { startCommand } from '#adapters/local/exec-process.ts';
import { FRAME, frame } from '#adapters/local/init/frames.ts';
import { OutputPipes } from '#adapters/local/output-pipes.ts';
import { bytes, codeOf } from '#test/contracts/sandbox-provider.contract.ts';

const COMMAND = { op: 'exec', argv: ['x'], cwd: '/', env: {}, stdin: true, tty: null } as const;

describe('a command through a hostile init', () => {
  let folder: string;
  let server: Server;
  const open = new Set<Socket>();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-init-'));
  });
  afterEach(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  /** Listens in the init's place. */
  async function init(behave: (socket: Socket) => void): Promise<void> {
    server = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => behave(socket));
    });
    await new Promise<void>((resolve) => server.listen(join(folder, 'init.sock'), resolve));
  }
  const start = () => startCommand('abc', folder, COMMAND, { answerWithin: 200 });

  test.each<[string, (socket: Socket) => void]>([
    ['never answers', () => {}],
    ['hangs up', (socket) => socket.destroy()],
    ['answers with noise', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n')],
    ['answers with an exit', (socket) => socket.write(frame(FRAME.exit, '{"code":0}'))],
    ['answers half', (socket) => socket.write(frame(FRAME.ok).subarray(0, 3))],
  ])('is refused with exec_transport_error when it %s', async (_title, behave) => {
    await init(behave);
    expect(await codeOf(start())).toBe('exec_transport_error');
  });

  const ok = frame(FRAME.ok);
  test.each<[string, Buffer | undefined]>([
    ['the connection ends', undefined],
    ['a frame is too large', Buffer.from([FRAME.stdout, 0xff, 0xff, 0xff, 0xff])],
    ['a frame is of no known type', Buffer.from([99, 0, 0, 0, 0])],
    ['a frame is for the other side', frame(FRAME.stdinEnd)],
    ['an exit is no JSON', frame(FRAME.exit, 'zero')],
    ['an exit is null', frame(FRAME.exit, 'null')],
    ['an exit has neither code nor signal', frame(FRAME.exit, '{}')],
    ['an exit code is 256', frame(FRAME.exit, '{"code":256}')],
    ['an exit code is text', frame(FRAME.exit, '{"code":"0"}')],
    ['a signal is made up', frame(FRAME.exit, '{"signal":"<script>"}')],
  ])('is lost with exec_transport_error, never exit 0, when %s', async (_title, answer) => {
    await init((socket) => {
      if (answer === undefined) socket.end(ok);
      else socket.write(Buffer.concat([ok, answer]));
    });
    const process = await start();
    expect(await codeOf(process.exited)).toBe('exec_transport_error');
    expect(await codeOf(bytes(process.stdout))).toBe('exec_transport_error');
    expect(process.stdin?.destroyed).toBe(true);
  });

  test('keeps what came before the loss from being taken for all', async () => {
    await init((socket) => socket.end(Buffer.concat([ok, frame(FRAME.stdout, 'half')])));
    const process = await start();
    process.stderr.resume();
    let seen = '';
    const reading = (async () => {
      for await (const chunk of process.stdout) seen += String(chunk);
    })();
    expect(await codeOf(reading)).toBe('exec_transport_error');
    expect(await codeOf(process.exited)).toBe('exec_transport_error');
    expect(['', 'half']).toContain(seen);
  });

  test('takes nothing that comes after the exit', async () => {
    await init((socket) => {
      const more = [frame(FRAME.stdout, 'more'), frame(FRAME.exit, '{"code":1}')];
      socket.write(Buffer.concat([ok, frame(FRAME.stdout, 'out'), frame(FRAME.exit, '{"code":0}'), ...more]));
    });
    const process = await start();
    expect((await bytes(process.stdout)).toString()).toBe('out');
    expect(await process.exited).toEqual({ code: 0 });
  });

  test('does not swell when output comes faster than it is read', async () => {
    let accepted = 0;
    const piece = frame(FRAME.stdout, Buffer.alloc(60_000));
    await init((socket) => {
      socket.write(ok);
      const pour = (): void => {
        let more = true;
        while (more && accepted < 5000) {
          more = socket.write(piece);
          accepted += 1;
        }
      };
      socket.on('drain', pour);
      pour();
    });
    const process = await start();
    await new Promise((resolve) => process.stdout.once('readable', resolve));
    // A turn for each piece that could still be on its way.
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(process.stdout.readableLength).toBeLessThan(1_000_000);
    expect(accepted).toBeLessThan(100);
    process.stdout.destroy();
    process.stderr.destroy();
  });

  test('holds stdin back beyond its window, and takes no more credit than it gave', async () => {
    let received = 0;
    let send: ((bytes: Buffer) => void) | undefined;
    await init((socket) => {
      socket.write(ok);
      socket.on('data', (chunk) => {
        received += chunk.length;
      });
      send = (answer) => socket.write(answer);
    });
    const process = await start();
    process.stdin?.write(Buffer.alloc(3_000_000));
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(received).toBe(262_144 + 4 * 5);
    const credit = Buffer.alloc(4);
    credit.writeUInt32BE(0xffff_ffff);
    send?.(frame(FRAME.stdinAck, credit));
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(received).toBe(2 * (262_144 + 4 * 5));
    process.stdout.destroy();
  });

  describe('given connections and pipes', () => {
    let pipes: () => ReturnType<OutputPipes['take']>;

    beforeEach(() => {
      mkdirSync(join(folder, 'channel'));
      const made = new OutputPipes(join(folder, 'pipes'));
      const place = { folder: join(folder, 'channel'), inside: join(folder, 'channel'), owner: undefined };
      pipes = () => made.take(place);
    });
    const startDirect = () => startCommand('abc', folder, COMMAND, { answerWithin: 200, pipes });

    test('is refused, and leaves no pipe behind, when it says more than the answer on an input', async () => {
      await init((socket) => socket.write(Buffer.concat([ok, ok])));
      expect(await codeOf(startDirect())).toBe('exec_transport_error');
      expect(readdirSync(join(folder, 'channel'))).toEqual([]);
    });

    test('is refused, and leaves no pipe behind, when it does not start the command', async () => {
      let connections = 0;
      await init((socket) => {
        connections += 1;
        if (connections === 1) socket.write(ok);
      });
      expect(await codeOf(startDirect())).toBe('exec_transport_error');
      expect(connections).toBe(2);
      expect(readdirSync(join(folder, 'channel'))).toEqual([]);
    });

    test('ends although nobody has opened its pipes', async () => {
      await init((socket) => socket.write(ok));
      const process = await startDirect();
      [...open].at(-1)?.write(frame(FRAME.exit, '{"code":3}'));
      expect((await bytes(process.stdout)).toString()).toBe('');
      expect(await process.exited).toEqual({ code: 3 });
      expect(readdirSync(join(folder, 'channel'))).toEqual([]);
    });

    test('is lost with exec_transport_error when the connection ends before the exit is told', async () => {
      await init((socket) => socket.write(ok));
      const process = await startDirect();
      for (const socket of open) socket.destroy();
      expect(await codeOf(process.exited)).toBe('exec_transport_error');
      expect(process.stdin?.destroyed).toBe(true);
    });
  });

  test('cannot be started where nobody listens', async () => {
    await init(() => {});
    expect(await codeOf(startCommand('abc', tmpdir(), COMMAND))).toBe('exec_transport_error');
  });

  test('a dial takes the first bytes that come right behind the answer', async () => {
    await init((socket) => socket.write(Buffer.concat([ok, Buffer.from('220 ready')])));
    const stream = await dialThroughInit('abc', folder, 3000);
    const [first] = (await stream.iterator({ destroyOnReturn: true }).next()).value as [number];
    expect(first).toBe('2'.charCodeAt(0));
  });

  test('a dial that is refused says nothing_listens', async () => {
    await init((socket) => socket.end(frame(FRAME.failed, '{"code":"ECONNREFUSED"}')));
    expect(await codeOf(dialThroughInit('abc', folder, 3000))).toBe('nothing_listens');
  });
});
