/** A command on the WebSocket of a server that does what a test wants: hostile, cut off, or slow. */
import { once } from 'node:events';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { WebSocket } from 'ws';
import { checkCommand } from '#adapters/sandboxes/shell/check-command.ts';
import { commandScript } from '#adapters/sandboxes/shell/command-script.ts';
import { ExecChannel } from '#adapters/kubernetes/sandboxes/exec/exec-channel.ts';
import { ShellCommand } from '#adapters/sandboxes/shell/shell-command.ts';
import type { ExecCommand } from '#core/ports/sandbox-provider.ts';
import { bytes, codeOf } from '#test/contracts/sandbox-provider.contract.ts';
import { type FakeStreams, fakeStreams } from '../fake-streams.ts';

let fake: FakeStreams | undefined;
afterEach(() => fake?.close());

const on = (channel: number, payload: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([channel]), Buffer.from(payload)]);
const exitStatus = (code: number): Buffer =>
  on(
    3,
    JSON.stringify({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
    }),
  );

/** What an API server also sends where the node's connection broke before the exit code came. */
const SUCCESS = on(3, '{"status":"Success"}');

async function started(
  serve: (socket: WebSocket, mark: string) => void,
  {
    command = { argv: ['true'] },
    isUp = async () => true,
    signal,
  }: { command?: ExecCommand; isUp?: () => Promise<boolean>; signal?: AbortSignal } = {},
): Promise<{ process: ShellCommand; kill: jest.Mock<(group: number, signal: string) => Promise<void>> }> {
  const checked = checkCommand(command);
  const script = commandScript(checked, {});
  fake = await fakeStreams({ socket: (socket) => serve(socket, script.mark) });
  const socket = await fake.streams.socket({ path: '/exec', what: 'exec' }, 'v5.channel.k8s.io');
  const kill = jest.fn<(group: number, signal: string) => Promise<void>>().mockResolvedValue();
  return {
    process: new ShellCommand(
      { id: 'box', command: checked, script, kill, isUp },
      new ExecChannel(socket),
      signal,
    ),
    kill,
  };
}

/** Greets, and then goes on. */
const greeting =
  (rest: (socket: WebSocket, mark: string) => void) =>
  (socket: WebSocket, mark: string): void => {
    socket.send(on(1, ''));
    socket.send(on(1, `${mark} 41\n`));
    rest(socket, mark);
  };

describe('a command in a pod', () => {
  test('ends with the end that is told on both outputs, before any Status', async () => {
    const { process } = await started(
      greeting((socket, mark) => {
        socket.send(on(1, 'out'));
        socket.send(on(2, `err${mark.slice(0, 7)}`));
        socket.send(on(2, `${mark} 3\nnoise`));
        socket.send(on(1, `${mark} 3\n`));
      }),
    );
    const [stdout, stderr] = await Promise.all([bytes(process.stdout), bytes(process.stderr)]);
    expect({ stdout: stdout.toString(), exit: await process.exited }).toEqual({
      stdout: 'out',
      exit: { code: 3 },
    });
    expect(stderr.toString()).toMatch(/^err[0-9a-f]{7}$/);
  });

  test('is handed over only once the shell has told its process id', async () => {
    const reported: string[] = [];
    const { process } = await started((socket, mark) => {
      socket.on('message', (message: Buffer) => reported.push(message.subarray(1).toString()));
      socket.once('pong', () => {
        reported.push('greeted');
        socket.send(on(1, `${mark} 41\n`));
      });
      socket.ping();
    });
    await process.started;
    while (reported.length < 2)
      await once(process.stdout, 'readable', { signal: AbortSignal.timeout(50) }).catch(() => {});
    expect(reported[0]).toBe('greeted');
    expect(reported[1]).toContain("exec 'env' '--' 'true'");
    process.abandon('over');
  });

  test.each<[string, (socket: WebSocket, mark: string) => void]>([
    ['the connection breaks', greeting((socket) => socket.terminate())],
    ['it closes without a Status', greeting((socket) => socket.close(1000))],
    ['the Status is none', greeting((socket) => socket.send(on(3, 'exit 0')))],
    [
      'the Status tells a failure',
      greeting((socket) => socket.send(on(3, '{"status":"Failure","message":"no"}'))),
    ],
    [
      'the Status tells success, and no output is told to have ended',
      greeting((socket) => {
        socket.send(on(1, 'a part'));
        socket.send(SUCCESS, () => socket.close(1000));
      }),
    ],
    [
      'the Status tells success, and one output is told to have ended',
      greeting((socket, mark) => {
        socket.send(on(1, `${mark} 0\n`));
        socket.send(SUCCESS, () => socket.close(1000));
      }),
    ],
    [
      'the Status tells success, and an end is cut in its middle',
      greeting((socket, mark) => {
        socket.send(on(2, `${mark} 0\n`));
        socket.send(on(1, `output${mark} 0`));
        socket.send(SUCCESS, () => socket.close(1000));
      }),
    ],
    ['the shell itself fails', greeting((socket) => socket.send(exitStatus(1)))],
    [
      'only one output is told to have ended',
      greeting((socket, mark) => {
        socket.send(on(1, `${mark} 0\n`), () => socket.terminate());
      }),
    ],
    ['a message comes on a channel that is none', greeting((socket) => socket.send(on(9, 'x')))],
    [
      'a message is longer than any of an API server',
      greeting((socket) => socket.send(on(1, Buffer.alloc(2_000_000)))),
    ],
    ['the shell ends before it starts it', (socket) => socket.send(exitStatus(0))],
    ['another process answers', (socket) => socket.send(on(1, Buffer.alloc(70_000)))],
    ['the process id is none', (socket, mark) => socket.send(on(1, `${mark} 1\n`))],
  ])('is lost, never ended, where %s', async (_title, serve) => {
    const { process } = await started(serve);
    process.stdout.resume();
    process.stderr.resume();
    expect(await codeOf(process.exited)).toBe('exec_transport_error');
    expect(process.stderr.errored).toMatchObject({ code: 'exec_transport_error' });
  });

  test('without input of its own keeps the shell’s input open until both ends have come', async () => {
    const heard: number[] = [];
    const { process } = await started(
      greeting((socket, mark) => {
        socket.on('message', (message: Buffer) => {
          heard.push(message[0] ?? -1);
          if (!message.toString().endsWith('\n\n')) return;
          // The pong shows that whatever was sent behind the command has arrived.
          socket.once('pong', () => {
            socket.send(on(1, `${mark} 0\n`));
            socket.send(on(2, `${mark} 0\n`));
          });
          socket.ping();
        });
      }),
    );
    process.stdout.resume();
    process.stderr.resume();
    expect(await process.exited).toEqual({ code: 0 });
    expect(heard).not.toContain(255);
  });

  test('that is lost is killed with its group', async () => {
    const { process, kill } = await started(greeting((socket) => socket.terminate()));
    await codeOf(process.exited);
    expect(kill.mock.calls).toEqual([[41, 'SIGKILL']]);
  });

  test('that is aborted rejects with the reason, and is killed with its group', async () => {
    const abort = new AbortController();
    const { process, kill } = await started(
      greeting(() => {}),
      { signal: abort.signal },
    );
    await process.started;
    abort.abort(new Error('enough'));
    await expect(process.exited).rejects.toThrow('enough');
    expect(kill.mock.calls).toEqual([[41, 'SIGKILL']]);
  });

  test('whose shell was killed is lost where its sandbox has stopped, and ended by a signal where it runs', async () => {
    for (const [up, outcome] of [
      [false, 'exec_transport_error'],
      [true, 'ended'],
    ] as const) {
      const { process } = await started(
        greeting((socket) => socket.send(exitStatus(137), () => socket.close(1000))),
        { isUp: async () => up },
      );
      const ended = process.exited.then(
        (exit) => (expect(exit).toEqual({ signal: 'SIGKILL' }), 'ended'),
        (error: { code: string }) => error.code,
      );
      expect(await ended).toBe(outcome);
      await fake?.close();
    }
  });

  test('on a terminal shows nothing of what was typed before it began', async () => {
    const { process } = await started(
      greeting((socket, mark) => {
        socket.send(on(1, `cd -- '/workspace'\r\n${mark}\r`));
        socket.send(on(1, '\n$ '));
        socket.send(on(3, '{"status":"Success"}'));
      }),
      { command: { argv: ['sh'], tty: { cols: 80, rows: 24 } } },
    );
    expect((await bytes(process.stdout)).toString()).toBe('$ ');
    expect(await process.exited).toEqual({ code: 0 });
  });

  test('stands still while nobody reads it', async () => {
    let sent = 0;
    let drained = false;
    const { process } = await started(
      greeting((socket) => {
        const chunk = on(1, Buffer.alloc(32_768));
        const next = (): void => {
          if (sent >= 64 * 1024 * 1024) return void (drained = true);
          sent += 32_768;
          socket.send(chunk, next);
        };
        next();
      }),
    );
    await once(process.stdout, 'readable');
    // The kernel's buffers fill, and then nothing moves any more.
    for (let before = -1; before !== sent; ) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(drained).toBe(false);
    expect(process.stdout.readableLength).toBeLessThan(256 * 1024);
    process.abandon('over');
  });

  test('takes a signal only once it runs and until it has ended', async () => {
    const { process, kill } = await started(
      greeting((socket, mark) => {
        socket.on('message', (message: Buffer) => {
          if (message.toString().includes('end')) {
            socket.send(on(1, `${mark} 0\n`));
            socket.send(on(2, `${mark} 0\n`));
          }
        });
      }),
      { command: { argv: ['cat'], stdin: true } },
    );
    process.kill('SIGTERM');
    await process.started;
    process.kill('SIGINT');
    process.stdout.resume();
    process.stderr.resume();
    await new Promise((resolve) => setImmediate(resolve));
    process.stdin?.write('end');
    await process.exited;
    process.kill('SIGKILL');
    expect(kill.mock.calls).toEqual([[41, 'SIGINT']]);
  });
});
