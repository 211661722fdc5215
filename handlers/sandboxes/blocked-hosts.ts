import { z } from 'zod';
import type { Services } from '../services.ts';

export const BlockedHostDto = z
  .object({
    host: z.string(),
    port: z.int(),
    rule: z.string().describe('What decided'),
    hint: z.string().describe('How its owner can allow it, or why that is impossible'),
  })
  .meta({ id: 'BlockedHost' });

/**
 * Call it before a command starts, and the result after it has ended: reports the hosts that the
 * sandbox was denied in between, by any of its processes.
 */
export function blockedFrom(
  { network, clock, log }: Pick<Services, 'network' | 'clock' | 'log'>,
  sandboxId: string,
): () => Promise<{ readonly blocked?: z.infer<typeof BlockedHostDto>[] }> {
  const since = clock.now();
  return async () => {
    const hosts = await network.blockedSince(sandboxId, since).catch((err: unknown) => {
      // The result of the command matters more.
      log.warn({ err, sandbox_id: sandboxId }, 'blocked hosts not read');
      return [];
    });
    if (hosts.length === 0) return {};
    const blocked = hosts.map((each) => {
      const { host, port, rule } = each;
      return { host, port, rule, hint: network.hint(sandboxId, each) };
    });
    return { blocked };
  };
}
