import type { Sandbox } from '../sandboxes/sandbox.ts';
import type { Context } from './command.ts';

/** The sandbox that an argument names: by its id or name, or by the id of its run. */
export async function findSandbox(
  { given, porthole, signal }: Pick<Context, 'given' | 'porthole' | 'signal'>,
  word = given.positionals[0] ?? '',
): Promise<Sandbox> {
  if (word.startsWith('run_')) return (await porthole.runs.get(word, { signal })).sandbox;
  return porthole.sandboxes.find(word, { signal });
}

/** Like `findSandbox`, with heartbeats while the command runs. */
export async function holdSandbox(context: Context, word?: string): Promise<Sandbox> {
  const sandbox = await findSandbox(context, word);
  const ttl = sandbox.info?.ttl_seconds ?? null;
  if (ttl !== null) sandbox.keepAlive(ttl);
  return sandbox;
}
