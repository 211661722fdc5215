import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from './build-program.ts';

const NOTICE_MS = 500;

/**
 * Does something while nobody else with the same folder does: builds, starts and ends of beds go one after the other.
 * The lock is the kernel's, held by a child that ends with this process, so no crash leaves it behind.
 */
export async function exclusive<T>(folder: string, report: Report, action: () => Promise<T>): Promise<T> {
  mkdirSync(folder, { recursive: true });
  const holder = spawn('flock', [join(folder, 'lock'), 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<string>((resolve) => {
    holder.once('error', (error) => resolve(error.message));
    holder.once('exit', (code, signal) => resolve(`flock ended with ${code ?? signal}`));
  });
  const held = new Promise<undefined>((resolve) => holder.stdout.once('data', () => resolve(undefined)));
  const notice = setTimeout(() => report('waiting for another start or end of a bed to finish'), NOTICE_MS);
  try {
    const problem = await Promise.race([held, ended]);
    if (problem !== undefined) throw new Error(`no lock on ${folder}: ${problem}`);
    clearTimeout(notice);
    return await action();
  } finally {
    clearTimeout(notice);
    holder.stdin.destroy();
    await ended;
  }
}
