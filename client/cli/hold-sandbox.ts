import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import type { Sandbox } from '../resources/sandbox.ts';
import { type Context, UsageError } from './command.ts';

/** `.`, `..`, or a path with a slash at its beginning: no id and no name is like that. */
const FOLDER = /^(?:\.\.?$|\.{0,2}\/)/;

/** The real path of a folder of this machine. @throws UsageError */
export async function realFolder(folder: string): Promise<string> {
  const path = await realpath(folder).catch(() => undefined);
  if (path !== undefined && (await stat(path)).isDirectory()) return path;
  throw new UsageError(`there is no folder ${JSON.stringify(folder)}.`);
}

/** The session key of the sandbox in which `porthole up` shows a folder, by its real path. */
export function sessionKeyOf(path: string): string {
  return `porthole-up-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`;
}

/**
 * The sandbox that an argument names: by its id or name, by the id of its run, or by the folder
 * that `porthole up` shows in it.
 */
export async function findSandbox(
  { given, porthole, signal }: Pick<Context, 'given' | 'porthole' | 'signal'>,
  word = given.positionals[0] ?? '',
): Promise<Sandbox> {
  if (word.startsWith('run_')) return (await porthole.runs.get(word, { signal })).sandbox;
  if (!FOLDER.test(word)) return porthole.sandboxes.find(word, { signal });
  const sessionKey = sessionKeyOf(await realFolder(word));
  for await (const sandbox of porthole.sandboxes.list({ sessionKey, signal })) return sandbox;
  throw new UsageError(`${word} has no sandbox yet. Make one: porthole up ${word}`);
}

/** Like `findSandbox`, with heartbeats while the command runs. */
export async function holdSandbox(context: Context, word?: string): Promise<Sandbox> {
  const sandbox = await findSandbox(context, word);
  const ttl = sandbox.info?.ttl_seconds ?? null;
  if (ttl !== null) sandbox.keepAlive(ttl);
  return sandbox;
}

/** Resolves once the sandbox stops, of which `info` is known. */
export async function untilStopped(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  // The stream begins with past events. Every stop before the sandbox was resumed is older than its
  // last activity; both times are the server's, in RFC 3339 and UTC.
  const since = sandbox.info?.last_active_at ?? '';
  for await (const { type, at } of sandbox.events({ signal }))
    if (type === 'stopped' && String(at) > since) return;
}
