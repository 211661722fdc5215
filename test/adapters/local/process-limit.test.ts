import { expect, test } from '@jest/globals';
import { machineWarnings, shareOf } from '#adapters/local/machine-limits.ts';
import { limitProcesses, sandboxCaps } from '#adapters/local/process-limit.ts';

const limits = (processes: string, files = 'unlimited'): string =>
  `Max core file size        0                    unlimited            bytes
Max processes             900                  ${processes.padEnd(20)} processes
Max open files            1024                 ${files.padEnd(20)} files\n`;

const LARGE = { processes: 4_194_304, openFiles: Infinity };
const SMALL = { processes: 32_768, openFiles: 1_000_000 };

test('allows 4096 processes and threads in a sandbox of a machine that has enough', () => {
  const share = shareOf(LARGE, 10);
  expect(sandboxCaps(limits('31774'), share)).toEqual({ processes: 4_096, openFiles: undefined });
  expect(sandboxCaps(limits('unlimited'), share).processes).toBe(4_096);
});

test('allows no more than the host may have itself when that is less', () => {
  expect(sandboxCaps(limits('1000'), shareOf(LARGE, 10)).processes).toBe(1_000);
  expect(sandboxCaps(limits('1000', '300'), shareOf(SMALL, 10)).openFiles).toBeUndefined();
});

test.each([1, 10, 40])('leaves a quarter of a small machine to the host beside %i sandboxes', (sandboxes) => {
  const { processes, openFiles } = sandboxCaps(limits('unlimited', '524288'), shareOf(SMALL, sandboxes));
  expect(processes * sandboxes).toBeLessThanOrEqual(SMALL.processes * 0.75);
  expect(openFiles ?? 0).toBeLessThanOrEqual((SMALL.openFiles * 0.75) / sandboxes);
  expect(processes).toBeGreaterThan(500);
});

test('warns of limits that are too small, with the remedy, and of no others', () => {
  expect(machineWarnings(LARGE, 100)).toEqual([]);
  expect(machineWarnings(SMALL, 10)).toEqual([]);
  expect(machineWarnings({ processes: 4_194_304, openFiles: 20_000 }, 10)).toEqual([
    expect.stringMatching(/20000 open files.*10 sandboxes need 218454.*sysctl -w fs\.file-max=218454,/),
  ]);
  expect(machineWarnings({ processes: 32_768, openFiles: Infinity }, 100)).toEqual([
    expect.stringMatching(/32768 processes.*kernel\.pid_max=68267 kernel\.threads-max=68267,/),
  ]);
});

test('passes both limits to prlimit', () => {
  const command = limitProcesses(['true'], { processes: 12, openFiles: 34 });
  expect(command.slice(-4)).toEqual(['--nproc=12', '--nofile=34', '--', 'true']);
});
