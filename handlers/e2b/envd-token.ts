import type { SandboxKey } from '#core/sandboxes/sandbox-records.ts';
import type { Services } from '../services.ts';

/**
 * The token of a sandbox for the data plane: that of the sandbox itself, until it is rotated. Equal
 * each time, because clients sign the URLs of files with it.
 */
export async function envdToken(
  { records, tokens }: Services,
  { id, generation }: SandboxKey,
): Promise<string> {
  const version = await records.delegations.tokenVersion({ id, generation });
  return tokens.signSandbox({ sandboxId: id, generation, by: { version } });
}
