import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';

/** Starts in flight at each kill, each at a different step. */
export const STARTS_AT_ONCE = 8;

const FUNCTION = join(import.meta.dirname, 'starting-function.ts');

/**
 * Kills a function with SIGKILL during eight starts. Returns the tokens of the starts it reported.
 */
export async function killWhileStarting(
  { token, ...access }: ClusterAccess,
  previewSettings: PreviewOptions,
  series: string,
): Promise<string[]> {
  const child = fork(FUNCTION, { stdio: 'ignore', execArgv: ['--disable-warning=ExperimentalWarning'] });
  const reported: string[] = [];
  const exited = once(child, 'exit');
  child.on('message', (token) => reported.push(token as string));
  child.send({ access: { ...access, token: await token?.(false) }, previewSettings, series });
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (first === undefined) throw new Error('the function that was to be killed has ended by itself');
  // Somewhere within the next starts: each takes a few milliseconds.
  await pause(Math.random() * 20);
  child.kill('SIGKILL');
  await exited;
  return reported;
}
