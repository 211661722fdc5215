import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';

/** How many starts one kill cuts off, each somewhere else. */
export const STARTS_AT_ONCE = 8;

const FUNCTION = join(import.meta.dirname, 'starting-function.ts');

/**
 * Kills a function in the middle of eight starts, by SIGKILL. Gives the tokens of those that it had
 * told of.
 */
export async function killWhileStarting(
  { token, ...access }: ClusterAccess,
  preview: PreviewOptions,
  series: string,
): Promise<string[]> {
  const child = fork(FUNCTION, { stdio: 'ignore', execArgv: ['--disable-warning=ExperimentalWarning'] });
  const reported: string[] = [];
  const exited = once(child, 'exit');
  child.on('message', (token) => reported.push(token as string));
  child.send({ access: { ...access, token: await token?.(false) }, preview, series });
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (first === undefined) throw new Error('the function that was to be killed has ended by itself');
  // Somewhere within the next starts: each takes some milliseconds.
  await pause(Math.random() * 20);
  child.kill('SIGKILL');
  await exited;
  return reported;
}
