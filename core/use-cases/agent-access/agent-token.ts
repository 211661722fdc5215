import type { RunRecord } from '../../ports/run-records.ts';
import type { Tokens } from '../../ports/tokens.ts';

/** An agent's token dies with its run, and after this long at the latest. */
const AGENT_TOKEN_HOURS = 24;

/**
 * The token of a run's agent: at any time the same, as long as the signing key is.
 * @param inside whether it is the one that is put into the sandbox, which is good only for calls from there
 */
export function agentTokenOf(
  tokens: Tokens,
  run: Pick<RunRecord, 'id' | 'createdAt'>,
  inside: boolean,
): Promise<string> {
  const expiresAt = new Date(run.createdAt.getTime() + AGENT_TOKEN_HOURS * 3_600_000);
  return tokens.signAgent({ runId: run.id, expiresAt, inside });
}
