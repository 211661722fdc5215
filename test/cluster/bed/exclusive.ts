import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Report } from './build-program.ts';

/**
 * Does something while nobody else with the same folder does: builds, starts and ends of beds go one after the other.
 * The lock is the kernel's, held by a child that ends with this process, so no crash leaves it behind.
 */
export async function exclusive<T>(folder: string, report: Report, action: () => Promise<T>): Promise<T> {
  mkdirSync(folder, { recursive: true });
  const holder = spawn('flock', [join(folder, 'lock'), 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const held = once(holder.stdout, 'data');
    const patience = pause(500, 'waiting' as const, { ref: false });
    if ((await Promise.race([held, patience])) === 'waiting') {
      report('waiting for another start or end of a bed to finish');
    }
    await held;
    return await action();
  } finally {
    const ended = once(holder, 'exit');
    holder.stdin.end();
    await ended;
  }
}
