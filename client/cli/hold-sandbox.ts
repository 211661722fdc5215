import type { Sandbox } from '../sandboxes/sandbox.ts';
import type { Context } from './command.ts';

/** The sandbox that the first positional names, with heartbeats while the command runs. */
export async function holdSandbox(
  { given, porthole, signal }: Context,
  idOrName = given.positionals[0] ?? '',
): Promise<Sandbox> {
  const sandbox = await porthole.sandboxes.find(idOrName, { signal });
  const ttl = sandbox.info?.ttl_seconds ?? null;
  if (ttl !== null) sandbox.keepAlive(ttl);
  return sandbox;
}
