import type { ChannelAddress } from '../ports/channel.ts';

/** The folder, in the home of a sandbox's user, that a run's access and the `porthole` command lie in. */
export const AGENT_FOLDER = '.porthole';

/** What the `porthole` command reads: where to call, and as whom. Lines of `name=value`. */
export function agentAccess(access: {
  readonly runId: string;
  readonly agentToken: string;
  readonly address: ChannelAddress;
}): string {
  const { runId, agentToken, address } = access;
  const where =
    address.kind === 'socket' ? `socket=${address.path}` : `url=${address.url.replace(/\/+$/, '')}`;
  return `run=${runId}\ntoken=${agentToken}\n${where}\n`;
}
