import type { RunsRequest } from '#guest/protocol/runs-protocol.ts';
import type { Tokens } from '../auth/authenticator.ts';
import { implicitRunId } from '../previews/tunnels.ts';
import { type Channel, guestsOf, NOTHING } from '../processes/guest.ts';
import { changedProvider } from '../sandboxes/provider-layers.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { Records } from '../shared/records.ts';
import { agentAccess } from './find-run.ts';
import type { RunRecord } from './run-records.ts';

/** An agent's token dies with its run, and after this long at the latest. */
const AGENT_TOKEN_HOURS = 24;

/**
 * The token of a run's agent: at any time the same, as long as the signing key is.
 * @param inside whether it is the one that is put into the sandbox, which is good only for calls
 * from there
 */
export function agentTokenOf(
  tokens: Tokens,
  run: Pick<RunRecord, 'id' | 'createdAt'>,
  inside: boolean,
): Promise<string> {
  const expiresAt = new Date(run.createdAt.getTime() + AGENT_TOKEN_HOURS * 3_600_000);
  return tokens.signAgent({ runId: run.id, expiresAt, inside });
}

export interface ProvisionRunsDeps {
  readonly records: Pick<Records, 'runs' | 'sandboxes'>;
  readonly provider: Pick<SandboxProvider, 'callGuest'>;
  readonly tokens: Tokens;
  readonly channel: Channel;
}

/** Runs of one sandbox that are introduced, the newest. */
const MOST_RUNS = 32;

/** Longest time that a run's start waits for it, in milliseconds. */
const WITHIN_MS = 10_000;

/**
 * Makes the running runs of a sandbox known inside it, where the `porthole` command finds them:
 * each with its token in a file that only the sandbox's user may read. Those that have completed
 * are forgotten. May be repeated at any time, and has to be after each start of the sandbox: the
 * files are lost with its processes.
 * @throws PortholeError `exec_transport_error` where they cannot be written, and what `callGuest`
 * refuses
 */
export async function provisionRuns(
  { records, provider, tokens, channel }: ProvisionRunsDeps,
  sandboxId: string,
  signal?: AbortSignal,
): Promise<void> {
  const ids = await records.runs.inSandbox(sandboxId);
  if (ids.length === 0) return;
  const address = await channel.address(sandboxId);
  if (address === undefined) return;
  const sandbox = await records.sandboxes.get(sandboxId);
  const tunnels = sandbox && implicitRunId(sandbox);
  const known = await Promise.all(ids.slice(-MOST_RUNS).map((id) => records.runs.get(id)));
  // Nobody works in the run of the tunnels: its URLs are not the sandbox's to see, or to stop.
  const ofAgents = known.filter((run) => run !== undefined).filter(({ id }) => id !== tunnels);
  const running = ofAgents.filter(({ status }) => status === 'running');
  const body: RunsRequest = {
    running: await Promise.all(
      running.map(async (run) => {
        const agentToken = await agentTokenOf(tokens, run, true);
        return { id: run.id, access: agentAccess({ runId: run.id, agentToken, address }) };
      }),
    ),
    ended: ofAgents.filter(({ status }) => status !== 'running').map(({ id }) => id),
  };
  const limit = AbortSignal.timeout(WITHIN_MS);
  await guestsOf(provider)
    .of(sandboxId)
    .call('PUT', '/v1/runs', NOTHING, {
      body,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
}

/**
 * Introduces the runs of a sandbox in it. Never rejects: a run does its work without the `porthole`
 * command, too.
 */
export type ProvisionAccess = (sandboxId: string, signal?: AbortSignal) => Promise<void>;

/**
 * A provider that introduces a sandbox's runs anew when it starts again: what lay in its memory is
 * gone.
 */
export function provisioningProvider(
  provider: SandboxProvider,
  provisionAccess: ProvisionAccess,
): SandboxProvider {
  return changedProvider(provider, {
    async resume(id, signal) {
      await provider.resume(id, signal);
      await provisionAccess(id, signal);
    },
  });
}
