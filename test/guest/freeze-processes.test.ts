import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { type IPty, spawn as spawnTerminal } from '@lydell/node-pty';
import { Freeze, otherProcesses, type Running } from '#guest/freeze-processes.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** What descends from a process, and itself: the test runs among others. */
function below(top: number): Running[] {
  const all = otherProcesses();
  const pids = new Set([top]);
  for (let size = 0; size < pids.size; ) {
    size = pids.size;
    for (const { pid, parent } of all) if (pids.has(parent)) pids.add(pid);
  }
  return all.filter(({ pid }) => pids.has(pid));
}

const states = (top: number) =>
  below(top)
    .map(({ state }) => (state === 'T' ? 'stopped' : 'running'))
    .join();

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(5);
}

function start(script: string): ChildProcess & { readonly pid: number } {
  const child = spawn('bash', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  ends.push(() => process.kill(-(child.pid as number), 'SIGKILL'));
  return child as ChildProcess & { readonly pid: number };
}

test('stops a tree of processes, also those that appear meanwhile, and lets it go on', async () => {
  const { pid, stdout } = start('while :; do (sleep 0.01; echo x); done');
  await once(stdout as NodeJS.ReadableStream, 'data');
  const freeze = await Freeze.begin(() => below(pid));
  expect(states(pid)).toMatch(/^stopped(,stopped)*$/);
  const after = below(pid).map((one) => one.pid);
  await pause(50);
  expect(below(pid).map((one) => one.pid)).toEqual(after);
  freeze.end();
  expect(states(pid)).toContain('running');
  await once(stdout as NodeJS.ReadableStream, 'data');
});

test('lets processes go on after a second, and those stay stopped that were', async () => {
  const { pid } = start('sleep 100 & sleep 100 & wait');
  await until(() => below(pid).length === 3);
  const [, halted = 0] = below(pid).map((one) => one.pid);
  process.kill(halted, 'SIGSTOP');
  await until(() => states(pid).includes('stopped'));
  const began = performance.now();
  await Freeze.begin(() => below(pid));
  expect(states(pid)).toBe('stopped,stopped,stopped');
  await until(() => states(pid).includes('running'));
  expect(performance.now() - began).toBeLessThan(3_000);
  expect(below(pid).map((one) => [one.pid === halted, one.state === 'T'])).toEqual([
    [false, false],
    [true, true],
    [false, false],
  ]);
});

test('leaves what cannot be stopped running', async () => {
  const { pid } = start('sleep 100 & wait');
  await until(() => below(pid).length === 2);
  const traced = (one: Running) => ({ ...one, isTraced: one.pid !== pid });
  await Freeze.begin(() => below(pid).map(traced));
  expect(states(pid)).toBe('running,running');
});

test('shows nothing in the terminal of a shell', async () => {
  let shown = '';
  const shell: IPty = spawnTerminal('bash', ['--norc', '--noprofile', '-i'], {
    env: { ...process.env, PS1: 'ready> ', TERM: 'dumb' },
  });
  ends.push(() => shell.kill('SIGKILL'));
  shell.onData((text) => (shown += text));
  const line = async (command: string, answer: RegExp) => {
    shown = '';
    shell.write(`${command}\r`);
    await until(() => answer.test(shown));
  };
  await until(() => shown.includes('ready>'));
  await line('sleep 100 & sleep 101 & echo begun', /^begun.*ready>/ms);
  // With a job in front, and without.
  await line('echo front; (sleep 0.5; bash -c "sleep 0.5"; echo over); echo next', /^front/m);
  shown = '';
  for (let round = 0; round < 5; round += 1) {
    const freeze = await Freeze.begin(() => below(shell.pid));
    expect(states(shell.pid)).toMatch(/^stopped(,stopped)+$/);
    await pause(20);
    freeze.end();
    await pause(20);
  }
  await until(() => /next\r\n.*ready>/s.test(shown));
  expect(shown).toBe('over\r\nnext\r\nready> ');
  await line('jobs', /101.*ready>/s);
  expect(shown).not.toContain('Stopped');
  expect(shown.match(/Running/g)).toHaveLength(2);
});
