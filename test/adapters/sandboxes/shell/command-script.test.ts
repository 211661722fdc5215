/** The scripts, run by the shells that this machine has. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { checkCommand } from '#adapters/sandboxes/shell/check-command.ts';
import { commandScript } from '#adapters/sandboxes/shell/command-script.ts';
import type { ExecCommand } from '#core/ports/sandbox-provider.ts';
import { suite } from '#test/support/suite.ts';

const SHELLS: readonly (readonly [string, ...string[]])[] = [
  ['dash'],
  ['bash', '--norc'],
  ['busybox', 'ash'],
];
const folder = mkdtempSync(join(tmpdir(), 'porthole-script-'));
const groups: number[] = [];

afterAll(() => {
  for (const group of groups) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
  rmSync(folder, { recursive: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly mark: string;
  /** Both streams, up to and with the line that tells their end. */
  readonly reported: Promise<{ stdout: string; stderr: string }>;
}

function start([shell, ...flags]: readonly [string, ...string[]], command: ExecCommand): Started {
  const script = commandScript(checkCommand({ cwd: folder, ...command }), { SANDBOX_ID: 'me' });
  const child = spawn(shell, [...flags, ...script.argv.slice(1)], {
    detached: true,
    env: { PATH: process.env['PATH'], TMPDIR: folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  groups.push(child.pid ?? 0);
  child.stdin.on('error', () => {});
  child.stdin.write(script.preamble);
  const until = async (stream: Readable, ends: number): Promise<string> => {
    let text = '';
    for await (const piece of stream.iterator({ destroyOnReturn: false })) {
      text += String(piece);
      if (text.split(script.mark).length > ends && text.endsWith('\n')) break;
    }
    return text.replaceAll(script.mark, 'MARK');
  };
  const reported = Promise.all([until(child.stdout, 2), until(child.stderr, 1)]).then(([stdout, stderr]) => ({
    stdout: stdout.replace(/^MARK \d+\n/, ''),
    stderr,
  }));
  return { child, mark: script.mark, reported };
}

async function readUntil(stream: Readable, end: string): Promise<string> {
  let text = '';
  for await (const piece of stream) {
    text += String(piece);
    if (text.endsWith(end)) break;
  }
  return text;
}

for (const shell of SHELLS) {
  const name = shell.join(' ');
  const isThere = spawnSync(shell[0], ['-c', 'true']).error === undefined;
  suite(
    `a command started by ${name}`,
    isThere ? undefined : `no ${name}: apt-get install ${shell[0]}`,
    () => {
      test.each<[string, ExecCommand, unknown, string]>([
        [
          'its exit code',
          { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] },
          'out\nMARK 3\n',
          'err\nMARK 3\n',
        ],
        ['the signal that ended it', { argv: ['sh', '-c', 'kill -TERM $$'] }, 'MARK 143\n', 'MARK 143\n'],
        ['that its group was ended', { argv: ['sh', '-c', 'kill 0; sleep 9'] }, 'MARK 143\n', 'MARK 143\n'],
        [
          'its environment',
          { argv: ['sh', '-c', 'echo "$A$SANDBOX_ID"'], env: { A: '1\n2' } },
          '1\n2me\nMARK 0\n',
          'MARK 0\n',
        ],
        [
          'a variable that no shell knows',
          { argv: ['env'], env: { 'a.b-c': "it's" } },
          expect.stringContaining("a.b-c=it's\n"),
          'MARK 0\n',
        ],
        ['no input', { argv: ['cat'] }, 'MARK 0\n', 'MARK 0\n'],
      ])('tells %s', async (_title, command, stdout, stderr) => {
        expect(await start(shell, command).reported).toEqual({ stdout, stderr });
      });

      test.each<[string, ExecCommand, number, string]>([
        ['127 where the program is not there', { argv: ['no-such-program'] }, 127, 'no-such-program'],
        ['126 where it is a folder', { argv: ['/usr'] }, 126, '/usr'],
        [
          '126 where the cwd is not there',
          { argv: ['true'], cwd: '/no/such/folder' },
          126,
          '/no/such/folder',
        ],
      ])('tells %s, and which on stderr', async (_title, command, code, word) => {
        const { stdout, stderr } = await start(shell, command).reported;
        expect(stdout).toBe(`MARK ${code}\n`);
        expect(stderr).toContain(word);
        expect(stderr.endsWith(`MARK ${code}\n`)).toBe(true);
      });

      test('gets any argument as it is', async () => {
        const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((each) => !each.includes('\0'));
        const wellFormed = text.filter((each) => each.isWellFormed());
        await fc.assert(
          fc.asyncProperty(fc.array(wellFormed, { maxLength: 4 }), async (words) => {
            const { stdout } = await start(shell, { argv: ['printf', '%s|', '-', ...words] }).reported;
            expect(stdout).toBe(`${['-', ...words, ''].join('|')}MARK 0\n`);
          }),
          { numRuns: 15 },
        );
      });

      test('gets 100,000 characters of an argument', async () => {
        const long = 'a b\n'.repeat(25_000);
        expect((await start(shell, { argv: ['printf', '%s', long] }).reported).stdout).toBe(
          `${long}MARK 0\n`,
        );
      });

      test('is told to have ended while what it left still writes, which runs on when nobody reads', async () => {
        const heartbeat = join(folder, `beat-${shell[0]}`);
        const script = `(n=0; while :; do n=$((n+1)); echo noise; echo $n > ${heartbeat}; sleep 0.01; done) & echo left`;
        const { child, reported } = start(shell, { argv: ['sh', '-c', script] });
        expect((await reported).stdout).toContain('left\n');
        for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
        await once(child, 'exit');
        const count = (): number => (existsSync(heartbeat) ? Number(readFileSync(heartbeat, 'utf8')) : 0);
        const before = count();
        for (const end = performance.now() + 10_000; count() < before + 20 && performance.now() < end; )
          await pause(10);
        expect(count()).toBeGreaterThanOrEqual(before + 20);
      });

      test('is not started where the input ends before it is handed over', async () => {
        const script = commandScript(checkCommand({ argv: ['touch', 'begun'], cwd: folder }), {});
        const child = spawn(shell[0], [...shell.slice(1), ...script.argv.slice(1)], {
          stdio: ['pipe', 'ignore', 'ignore'],
        });
        child.stdin.end(script.preamble.subarray(0, -1));
        expect((await once(child, 'exit'))[0]).toBe(1);
        expect(existsSync(join(folder, 'begun'))).toBe(false);
      });

      test.each<[string, string | undefined]>([
        ['with pipes of its own', undefined],
        ['where no pipe can be made', '/no/such/folder'],
      ])('tells its end on both outputs and waits until that is heard, %s', async (_title, tmp = folder) => {
        const command = checkCommand({ argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'], cwd: folder });
        const script = commandScript(command, {});
        const child = spawn(shell[0], [...shell.slice(1), ...script.argv.slice(1)], {
          env: { PATH: process.env['PATH'], TMPDIR: tmp },
          stdio: ['pipe', 'pipe', 'pipe'],
        });
        child.stdin.write(script.preamble);
        const [stdout, stderr] = await Promise.all([
          readUntil(child.stdout, `${script.mark} 3\n`),
          readUntil(child.stderr, `${script.mark} 3\n`),
        ]);
        expect({ stdout, stderr }).toEqual({
          stdout: `${script.mark} ${child.pid}\nout\n${script.mark} 3\n`,
          stderr: `err\n${script.mark} 3\n`,
        });
        expect(child.exitCode).toBeNull();
        child.stdin.end();
        expect((await once(child, 'exit'))[0]).toBe(0);
      });
    },
  );
}

describe('what goes into the URL', () => {
  test('holds nothing of the caller’s', () => {
    const command = checkCommand({ argv: ['echo', 'argument'], cwd: '/somewhere', env: { KEY: 'secret' } });
    const { argv } = commandScript(command, { SANDBOX_ID: 'me' });
    expect(argv.join(' ')).not.toMatch(/argument|somewhere|KEY|secret/);
  });

  test('has another mark each time', () => {
    const mark = (): string => commandScript(checkCommand({ argv: ['true'] }), {}).mark;
    expect(mark()).toMatch(/^[0-9a-f]{32}$/);
    expect(mark()).not.toBe(mark());
  });

  test('is handed over in printable lines that a terminal takes', () => {
    const argv = ['x'.repeat(9_000), '\x03\x04\x15ü\\'] as const;
    const { preamble } = commandScript(checkCommand({ argv, tty: { cols: 80, rows: 24 } }), {});
    const lines = preamble.toString('latin1').split('\n');
    expect(lines.slice(-2)).toEqual(['', '']);
    for (const line of lines.slice(0, -2)) expect(line).toMatch(/^[ -~]{1,2048}$/);
  });
});

describe('a command', () => {
  test.each<[string, ExecCommand]>([
    ['a relative cwd', { argv: ['true'], cwd: 'here' }],
    ['a zero byte in an argument', { argv: ['echo', 'a\0b'] }],
    ['a zero byte in a variable', { argv: ['true'], env: { A: 'a\0b' } }],
    ['a zero byte in a variable’s name', { argv: ['true'], env: { 'A\0': 'b' } }],
    ['a variable without a name', { argv: ['true'], env: { '': 'x' } }],
    ['a variable’s name with =', { argv: ['true'], env: { 'A=B': 'x' } }],
    ['a terminal without columns', { argv: ['true'], tty: { cols: 0, rows: 24 } }],
    ['3 MB of arguments', { argv: ['echo', 'a'.repeat(3_000_000)] }],
  ])('with %s is refused', (_title, command) => {
    expect(() => checkCommand(command)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
