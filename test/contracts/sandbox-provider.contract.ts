/**
 * The contract of TestProvider, for any kind of sandbox. Sandboxes need a shell and node;
 * nothing else is assumed.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import type { Duplex, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import type { ExecCommand, ExecExit } from '#core/sandboxes/sandbox-provider.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import { type EntryKind, survivesHostileTrees } from './hostile-trees.ts';

export interface ContractCapabilities {
  /**
   * Whether each sandbox has separate ports; false only without isolation, where the contract does
   * not include it.
   */
  readonly ownNetwork: boolean;
  /** What of the workspace is gone after a stop. @default nothing */
  readonly loses?: readonly EntryKind[];
  /**
   * `life`: without the commands, terminals and streams of a sandbox, for a provider that reaches
   * its guests like another one that has the whole contract.
   */
  readonly part?: 'all' | 'life';
}

/** A new sandbox id. */
export function sandboxId(): string {
  return randomBytes(26).reduce((id, byte) => id + 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32], '');
}

export async function bytes(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export interface Outcome {
  readonly exit: ExecExit;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function run(
  provider: TestProvider,
  id: string,
  argv: ExecCommand['argv'],
  options: Omit<ExecCommand, 'argv'> & { input?: string | Buffer } = {},
): Promise<Outcome> {
  const { input, ...command } = options;
  const process = await provider.exec(id, {
    argv,
    ...command,
    ...(input === undefined ? {} : { stdin: true }),
  });
  process.stdin?.end(input);
  const [stdout, stderr, exit] = await Promise.all([
    bytes(process.stdout),
    bytes(process.stderr),
    process.exited,
  ]);
  return { exit, stdout: stdout.toString(), stderr: stderr.toString() };
}

export async function codeOf(failing: Promise<unknown>): Promise<string> {
  const error = await failing.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  return error instanceof PortholeError ? error.code : `not a PortholeError: ${String(error)}`;
}

/** Reads until `text` is received. */
export async function until(stream: Readable, text: string): Promise<string> {
  let seen = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    seen += String(chunk);
    if (seen.includes(text)) return seen;
  }
  throw new Error(`the stream ended without ${text}: ${seen}`);
}

/**
 * Starts a server inside that sends its name, and waits until it listens. Resolves to its port,
 * which the sandbox chooses if 0.
 */
export async function serve(
  provider: TestProvider,
  id: string,
  name: string,
  { port = 0, host = '127.0.0.1' } = {},
): Promise<number> {
  const script = `const s = require('net').createServer({ allowHalfOpen: true }, (c) => {
    c.on('error', () => {}); c.write('${name}:'); c.pipe(c);
  }); s.listen(${port}, '${host}', () => console.log('port ' + s.address().port + ' '));`;
  const server = await provider.exec(id, { argv: ['node', '-e', script] });
  server.stderr.resume();
  const said = await until(server.stdout, ' \n');
  server.stdout.resume();
  return Number(/port (\d+)/.exec(said)?.[1]);
}

/** Sends a word and returns the greeting and the echo. */
export async function talk(stream: Duplex, word: string): Promise<string> {
  stream.write(word);
  const heard = await until(stream, word);
  stream.destroy();
  return heard;
}

/** Whether a process with this mark in its command line lives in the sandbox. */
export async function lives(provider: TestProvider, id: string, mark: string): Promise<boolean> {
  const looked = `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <"$f" 2>/dev/null; echo; done | grep -v grep | grep -c -- "$MARK[:]"`;
  const { stdout } = await run(provider, id, ['sh', '-c', looked], { env: { MARK: mark } });
  return stdout.trim() !== '0';
}

/** Polls for a state without an event, at most 10 s. */
export async function eventually(check: () => Promise<boolean>): Promise<boolean> {
  for (const until = performance.now() + 10_000; performance.now() < until; await after(20)) {
    if (await check()) return true;
  }
  return false;
}

/** Runs the suite; `open` is called once, and its result is closed at the end. */
export function sandboxProviderContract(
  open: () => Promise<TestProvider>,
  { ownNetwork, loses = [], part = 'all' }: ContractCapabilities,
): void {
  let provider: TestProvider;
  const id = sandboxId();
  const made = [id];
  const fresh = (): string => {
    const one = sandboxId();
    made.push(one);
    return one;
  };

  beforeAll(async () => {
    provider = await open();
    await provider.create({ id });
  });
  afterAll(async () => {
    for (const one of made) await provider.destroy(one);
    await provider.close();
  });

  describe('commands of a new sandbox', () => {
    test('start in /workspace', async () => {
      await run(provider, id, ['sh', '-c', 'echo here > "$WORKSPACE/where"']);
      expect((await run(provider, id, ['cat', 'where'])).stdout).toBe('here\n');
    });

    test('see the variables that are asked for beside the sandbox’s own', async () => {
      const { stdout } = await run(provider, id, ['sh', '-c', 'echo "$GREETING $SANDBOX_ID"'], {
        env: { GREETING: 'hello world' },
      });
      expect(stdout).toBe(`hello world ${id}\n`);
    });

    test('have outputs/ in their workspace', async () => {
      expect((await run(provider, id, ['test', '-d', 'outputs'])).exit).toEqual({ code: 0 });
    });

    test('write and execute in /tmp', async () => {
      const script =
        'f=$(mktemp /tmp/x.XXXXXX) && printf "#!/bin/sh\\necho ran\\n" > "$f" && chmod +x "$f" && "$f"; rm -f "$f"';
      expect((await run(provider, id, ['sh', '-c', script])).stdout).toBe('ran\n');
    });

    if (ownNetwork)
      test('reaches each of two sandboxes on the same port', async () => {
        const other = fresh();
        await provider.create({ id: other });
        await serve(provider, id, 'first', { port: 3000 });
        await serve(provider, other, 'second', { port: 3000 });
        expect(await talk(await provider.dial(id, 3000), 'x')).toBe('first:x');
        expect(await talk(await provider.dial(other, 3000), 'x')).toBe('second:x');
      });
  });

  describe('its life', () => {
    test('does nothing when a running sandbox is created again', async () => {
      await run(provider, id, ['sh', '-c', 'echo kept > kept']);
      await provider.create({ id });
      expect((await run(provider, id, ['cat', 'kept'])).stdout).toBe('kept\n');
      expect(await provider.inspect(id)).toMatchObject({ state: 'running' });
    });

    test('makes one sandbox from simultaneous creates of one id', async () => {
      const one = fresh();
      await Promise.all(Array.from({ length: 8 }, () => provider.create({ id: one })));
      expect((await run(provider, one, ['echo', 'up'])).stdout).toBe('up\n');
    });

    test('ends its processes and keeps its files on stop, and comes back on resume', async () => {
      const one = fresh();
      await provider.create({ id: one });
      const port = await serve(provider, one, 'gone');
      await run(provider, one, ['sh', '-c', 'echo kept > kept']);
      await provider.stop(one);
      await provider.stop(one);
      expect(await provider.inspect(one)).toMatchObject({ state: 'stopped', podName: expect.any(String) });
      expect(await codeOf(provider.exec(one, { argv: ['true'] }))).toBe('sandbox_not_running');
      expect(await codeOf(provider.dial(one, port))).toBe('sandbox_not_running');
      await provider.resume(one);
      await provider.resume(one);
      expect(await provider.inspect(one)).toMatchObject({ state: 'running' });
      expect((await run(provider, one, ['cat', 'kept'])).stdout).toBe('kept\n');
      expect(await codeOf(provider.dial(one, port))).toBe('nothing_listens');
    });

    test('reports a running command as lost, not ended, when its sandbox stops', async () => {
      const one = fresh();
      await provider.create({ id: one });
      const process = await provider.exec(one, { argv: ['sh', '-c', 'echo up; exec sleep 1000'] });
      process.stderr.resume();
      await until(process.stdout, 'up');
      await provider.stop(one);
      expect(await codeOf(process.exited)).toBe('exec_transport_error');
    });

    test.each([
      ['at once', (_one: string) => Promise.resolve()],
      [
        'stopped and resumed',
        async (one: string) => {
          await provider.stop(one);
          await provider.resume(one);
        },
      ],
    ])('runs commands after its folder is closed to its user, %s', async (_when, then) => {
      const one = fresh();
      await provider.create({ id: one });
      // Only its user may do this: if the folder has another owner, it stays unchanged.
      const shut = 'echo kept > file; chmod 000 outputs . 2>/dev/null; echo done';
      expect((await run(provider, one, ['sh', '-c', shut])).stdout).toBe('done\n');
      await then(one);
      expect(await run(provider, one, ['sh', '-c', 'pwd -P; cat file; [ -w . ] && echo writable'])).toEqual({
        exit: { code: 0 },
        stdout: expect.stringMatching(/\nkept\nwritable\n$/),
        stderr: '',
      });
      await provider.destroy(one);
    });

    test('survives hostile workspaces: stopped and resumed, it runs, and its files can be read and written', async () => {
      const ids = [fresh(), fresh(), fresh()];
      await Promise.all(ids.map((one) => provider.create({ id: one })));
      expect(await survivesHostileTrees(provider, ids, loses)).toEqual([]);
      await Promise.all(ids.map((one) => provider.destroy(one)));
    });

    test('removes the sandbox and its files on destroy, and does nothing the second time', async () => {
      const one = fresh();
      await provider.create({ id: one });
      const script = 'mkdir -p shut/deep && touch shut/deep/file && chmod 0 shut/deep/file shut/deep shut';
      await run(provider, one, ['sh', '-c', script]);
      await provider.destroy(one);
      await provider.destroy(one);
      expect(await provider.inspect(one)).toMatchObject({ state: 'absent' });
      await provider.create({ id: one });
      expect((await run(provider, one, ['test', '-e', 'shut'])).exit).toEqual({ code: 1 });
    });

    test('list names every sandbox, running or stopped', async () => {
      const one = fresh();
      await provider.create({ id: one });
      await provider.stop(one);
      const listed: string[] = [];
      for await (const each of provider.list()) listed.push(each);
      expect(listed).toEqual(expect.arrayContaining([id, one]));
      await provider.destroy(one);
      for await (const each of provider.list()) expect(each).not.toBe(one);
    });

    test('reports an unknown id as absent and not found, and has nothing to destroy', async () => {
      const none = sandboxId();
      expect(await provider.inspect(none)).toMatchObject({ state: 'absent' });
      expect(await codeOf(provider.stop(none))).toBe('sandbox_not_found');
      expect(await codeOf(provider.resume(none))).toBe('sandbox_not_found');
      expect(await codeOf(provider.exec(none, { argv: ['true'] }))).toBe('sandbox_not_found');
      expect(await codeOf(provider.dial(none, 3000))).toBe('sandbox_not_found');
      await provider.destroy(none);
    });

    test.each(['../escape', 'UPPER', '', 'a'.repeat(129), 'a/b', '.'])(
      'refuses to create the id %j',
      async (wrong) => {
        expect(await codeOf(provider.create({ id: wrong }))).toBe('invalid_request');
      },
    );
  });

  if (part === 'life') return;

  describe('commands', () => {
    const exits: readonly [string, ExecCommand['argv'], ExecExit][] = [
      ['the exit code 0', ['true'], { code: 0 }],
      ['the exit code 255', ['sh', '-c', 'exit 255'], { code: 255 }],
      ['the signal that ended it', ['sh', '-c', 'kill -TERM $$'], { signal: 'SIGTERM' }],
      ['127 for a program that is not there', ['no-such-program'], { code: 127 }],
      ['127 for a path that is not there', ['/no/such/program'], { code: 127 }],
      ['126 for a file that cannot be executed', ['/etc/passwd'], { code: 126 }],
      ['126 for a folder', ['/usr'], { code: 126 }],
    ];
    test.each(exits)('report %s', async (_title, argv, exit) => {
      expect((await run(provider, id, argv)).exit).toEqual(exit);
    });

    test('print on stderr the name of a program that cannot be started', async () => {
      const { stdout, stderr } = await run(provider, id, ['no-such-program']);
      expect(stdout).toBe('');
      expect(stderr).toContain('no-such-program');
    });

    test('keep stdout and stderr apart', async () => {
      expect(await run(provider, id, ['sh', '-c', 'echo out; echo err >&2'])).toEqual({
        exit: { code: 0 },
        stdout: 'out\n',
        stderr: 'err\n',
      });
    });

    test('can open /dev/stdout and /dev/stderr', async () => {
      const script = 'echo out > /dev/stdout; echo err > /dev/stderr';
      expect(await run(provider, id, ['sh', '-c', script])).toEqual({
        exit: { code: 0 },
        stdout: 'out\n',
        stderr: 'err\n',
      });
    });

    test('get their arguments as they are, without a shell', async () => {
      const { stdout } = await run(provider, id, ['printf', '%s|', '$HOME', 'a b', '', '*', 'ü\n']);
      expect(stdout).toBe('$HOME|a b||*|ü\n|');
    });

    test('start in the folder that is asked for', async () => {
      await run(provider, id, ['sh', '-c', 'mkdir -p deep/er && echo down > deep/er/file']);
      expect((await run(provider, id, ['cat', 'file'], { cwd: '/workspace/deep/er' })).stdout).toBe('down\n');
    });

    test('fail with 126 where that folder is not there', async () => {
      const { exit, stderr } = await run(provider, id, ['true'], { cwd: '/workspace/none' });
      expect(exit).toEqual({ code: 126 });
      expect(stderr).toContain('none');
    });

    test('read /dev/null where no stdin is asked for', async () => {
      expect((await run(provider, id, ['cat'])).exit).toEqual({ code: 0 });
    });

    test('carry bytes of every value through stdin and stdout unchanged', async () => {
      const input = Buffer.concat([
        Buffer.from(Array.from({ length: 256 }, (_, value) => value)),
        randomBytes(1_000_000),
      ]);
      const process = await provider.exec(id, { argv: ['cat'], stdin: true });
      process.stdin?.end(input);
      const [output] = await Promise.all([bytes(process.stdout), bytes(process.stderr)]);
      expect(output.equals(input)).toBe(true);
      expect(await process.exited).toEqual({ code: 0 });
    });

    test('end well when they close their stdin early', async () => {
      const { exit, stdout } = await run(provider, id, ['head', '-c', '1'], {
        input: Buffer.alloc(100_000, 'a'),
      });
      expect({ exit, stdout }).toEqual({ exit: { code: 0 }, stdout: 'a' });
    });

    test('exit only after the last byte of 3 MB', async () => {
      for (let round = 0; round < 5; round++) {
        const { stdout } = await run(provider, id, ['sh', '-c', 'head -c 3000000 /dev/zero; printf end']);
        expect(stdout.length).toBe(3_000_003);
        expect(stdout.endsWith('end')).toBe(true);
      }
    });

    test('wait for a slow reader of 64 MiB, in bounded memory', async () => {
      const process = await provider.exec(id, {
        argv: ['sh', '-c', 'echo begun; head -c 67108864 /dev/zero; echo done >&2'],
      });
      const before = globalThis.process.memoryUsage();
      await once(process.stdout, 'readable');
      // Output is not read: back-pressure must block the command, and its output must not be
      // buffered here.
      await after(300);
      const during = globalThis.process.memoryUsage();
      expect(during.arrayBuffers - before.arrayBuffers).toBeLessThan(4 * 1024 * 1024);
      expect(process.stderr.readableLength).toBe(0);
      let length = 0;
      for await (const chunk of process.stdout) length += (chunk as Buffer).length;
      expect(length).toBe(6 + 67_108_864);
      expect((await bytes(process.stderr)).toString()).toBe('done\n');
      expect(await process.exited).toEqual({ code: 0 });
    });

    test('run 50 at a time, each with its own output', async () => {
      const all = await Promise.all(
        Array.from({ length: 50 }, (_, number) =>
          run(provider, id, ['sh', '-c', `echo ${number}; exit ${number}`]),
        ),
      );
      expect(all.map(({ exit, stdout }) => ({ ...exit, stdout }))).toEqual(
        Array.from({ length: 50 }, (_, number) => ({ code: number, stdout: `${number}\n` })),
      );
    });
  });

  describe('ending a command', () => {
    test('sends the signal of a kill to the whole process group', async () => {
      const process = await provider.exec(id, {
        argv: ['sh', '-c', `sh -c "echo child; sleep 1000; :" kill-${id}: & wait`],
      });
      process.stderr.resume();
      await until(process.stdout, 'child');
      expect(await lives(provider, id, `kill-${id}`)).toBe(true);
      process.kill('SIGTERM');
      process.stdout.resume();
      expect(await process.exited).toEqual({ signal: 'SIGTERM' });
      expect(await eventually(async () => !(await lives(provider, id, `kill-${id}`)))).toBe(true);
    });

    test('does nothing for a kill after the exit', async () => {
      const process = await provider.exec(id, { argv: ['true'] });
      process.stdout.resume();
      process.stderr.resume();
      await process.exited;
      process.kill('SIGKILL');
      expect(await process.exited).toEqual({ code: 0 });
    });

    test('aborting the signal kills the group, also while its input and output stand still', async () => {
      const abort = new AbortController();
      const mark = `abort-${id}`;
      const argv = ['sh', '-c', `yes ${mark}: & exec sleep 1000`] as const;
      const process = await provider.exec(id, { argv, stdin: true }, abort.signal);
      process.stdin?.write(Buffer.alloc(2_000_000));
      await once(process.stdout, 'readable');
      expect(await lives(provider, id, mark)).toBe(true);
      abort.abort(new Error('enough'));
      await expect(process.exited).rejects.toThrow('enough');
      expect(await eventually(async () => !(await lives(provider, id, mark)))).toBe(true);
    });

    test('starts nothing when the signal is already aborted', async () => {
      const argv = ['sh', '-c', 'touch "$WORKSPACE/started"'] as const;
      await expect(provider.exec(id, { argv }, AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
      expect((await run(provider, id, ['test', '-e', 'started'])).exit).toEqual({ code: 1 });
    });

    test('leaves background processes running, which may go on writing', async () => {
      const script =
        '(n=0; while :; do echo noise; n=$((n+1)); echo $n > beat; sleep 0.02; done) & echo left';
      const { exit, stdout } = await run(provider, id, ['sh', '-c', script]);
      expect(exit).toEqual({ code: 0 });
      expect(stdout).toContain('left\n');
      const heartbeat = async (): Promise<number> =>
        Number((await run(provider, id, ['cat', 'beat'])).stdout);
      const first = await heartbeat();
      expect(await eventually(async () => (await heartbeat()) > first + 5)).toBe(true);
    });
  });

  describe('a terminal', () => {
    test('has the size that is asked for, and takes a new one', async () => {
      // The new size and the input may take two different paths.
      const script =
        'first=$(stty size); echo "$first"; read -r line; while [ "$(stty size)" = "$first" ]; do sleep 0.05; done; stty size; exit 7';
      const process = await provider.exec(id, {
        argv: ['sh', '-c', script],
        stdin: true,
        tty: { cols: 91, rows: 31 },
      });
      process.stderr.resume();
      expect(await until(process.stdout, '\n')).toContain('31 91');
      process.resize(120, 40);
      process.stdin?.write('\n');
      const rest = await bytes(process.stdout);
      expect(rest.toString()).toContain('40 120');
      expect(await process.exited).toEqual({ code: 7 });
    });

    test('is one to the command, and puts stderr into the same stream', async () => {
      const { stdout, stderr, exit } = await run(
        provider,
        id,
        ['sh', '-c', 'test -t 0 && test -t 1 && echo err >&2'],
        {
          tty: { cols: 80, rows: 24 },
        },
      );
      expect({ stdout, stderr, exit }).toEqual({ stdout: 'err\r\n', stderr: '', exit: { code: 0 } });
    });

    test('turns a typed Ctrl-C into SIGINT', async () => {
      const process = await provider.exec(id, {
        argv: ['sh', '-c', 'echo ready; exec sleep 1000'],
        stdin: true,
        tty: { cols: 80, rows: 24 },
      });
      process.stderr.resume();
      await until(process.stdout, 'ready');
      process.stdin?.write('\x03');
      process.stdout.resume();
      expect(await process.exited).toEqual({ signal: 'SIGINT' });
    });

    test('gives all it printed before its exit to a slow reader', async () => {
      const process = await provider.exec(id, {
        argv: ['sh', '-c', 'head -c 500000 /dev/zero | tr "\\0" x; printf end'],
        tty: { cols: 80, rows: 24 },
      });
      process.stderr.resume();
      let length = 0;
      let last = '';
      for await (const chunk of process.stdout) {
        if (length === 0) await after(400);
        length += (chunk as Buffer).length;
        last = String(chunk);
      }
      expect(length).toBe(500_003);
      expect(last.endsWith('end')).toBe(true);
      expect(await process.exited).toEqual({ code: 0 });
    });

    test('fails with 127 for a program that is not there', async () => {
      const { exit } = await run(provider, id, ['no-such-program'], { tty: { cols: 80, rows: 24 } });
      expect(exit).toEqual({ code: 127 });
    });
  });

  describe('dial', () => {
    test.each(['127.0.0.1', '::1', '0.0.0.0', '::'])('reaches a server that listens on %s', async (host) => {
      const port = await serve(provider, id, 'here', { host });
      expect(await talk(await provider.dial(id, port), 'ping')).toBe('here:ping');
    });

    test('fails with nothing_listens where nothing does', async () => {
      // The next port may be one of another suite where sandboxes share the network of the machine.
      expect(await codeOf(provider.dial(id, 1))).toBe('nothing_listens');
    });

    test('gives 100 streams at a time', async () => {
      const port = await serve(provider, id, 'many');
      const heard = await Promise.all(
        Array.from({ length: 100 }, async (_, number) => talk(await provider.dial(id, port), `<${number}>`)),
      );
      expect(heard).toEqual(Array.from({ length: 100 }, (_, number) => `many:<${number}>`));
    });

    test('carries megabytes both ways unchanged, and a half-close', async () => {
      const port = await serve(provider, id, 'big');
      const stream = await provider.dial(id, port);
      const data = randomBytes(5_000_000);
      stream.end(data);
      const back = await bytes(stream);
      expect(back.subarray(0, 4).toString()).toBe('big:');
      expect(back.subarray(4).equals(data)).toBe(true);
    });

    test('rejects a port that is none', async () => {
      expect(await codeOf(provider.dial(id, 0))).toBe('invalid_port');
      expect(await codeOf(provider.dial(id, 65_536))).toBe('invalid_port');
    });
  });
}
