import { usageReport, type UsageReport } from '#protocol/guest/usage-protocol.ts';
import type { Guests } from '../processes/guest.ts';
import type { SandboxProvider } from './sandbox-provider.ts';

/**
 * What a sandbox uses now; undefined if it does not run. It is not resumed for that, and stays
 * idle.
 * @throws PortholeError as `Guest.call` does
 */
export async function sandboxUsage(
  { guests, sandboxes }: { readonly guests: Guests; readonly sandboxes: Pick<SandboxProvider, 'inspect'> },
  id: string,
  signal?: AbortSignal,
): Promise<UsageReport | undefined> {
  const { state } = await sandboxes.inspect(id, signal);
  if (state !== 'running') return undefined;
  return (await guests.of(id).call('GET', '/v1/usage', usageReport, { signal })).value;
}
