import { z } from 'zod';
import type { Services } from '../services.ts';

export const BlockedHostDto = z
  .object({
    host: z.string(),
    port: z.int(),
    rule: z.string().describe('What decided'),
    hint: z.string().describe('How its owner can allow it'),
  })
  .meta({ id: 'BlockedHost' });

/**
 * Call it before a command begins, and the result once it has ended: what the sandbox was not
 * allowed to reach in between, by whatever ran in it.
 */
export function blockedFrom(
  { network, clock }: Pick<Services, 'network' | 'clock'>,
  sandboxId: string,
): () => { readonly blocked?: z.infer<typeof BlockedHostDto>[] } {
  const since = clock.now();
  return () => {
    const hosts = network.blockedSince(sandboxId, since);
    if (hosts.length === 0) return {};
    return { blocked: hosts.map((each) => ({ ...each, hint: network.hint(sandboxId, each) })) };
  };
}
