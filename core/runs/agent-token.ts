import { LRUCache } from 'lru-cache';
import type { RunsRequest } from '#protocol/guest/runs-protocol.ts';
import type { Tokens } from '../auth/authenticator.ts';
import { PortholeError } from '#base/errors.ts';
import { implicitRunId } from '../previews/implicit-run.ts';
import { type Channel, guestsOf, NOTHING } from '../processes/guest.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { anySignal } from '#base/concurrency.ts';
import type { Records } from '../records.ts';
import { agentAccess } from './find-run.ts';
import { agentConnected } from './run-events.ts';
import type { RunRecord } from './run-records.ts';

/** An agent's token expires with its run, and after this long at the latest. */
const AGENT_TOKEN_HOURS = 24;

/** The token of a run's agent, for use outside its sandbox. Valid until its run rotates it. */
export async function outsideToken(
  tokens: Tokens,
  { id: runId, tokenVersion: version }: Pick<RunRecord, 'id' | 'tokenVersion'>,
  from: Date,
): Promise<{ readonly agentToken: string; readonly expiresAt: Date }> {
  const expiresAt = endOf(from);
  return { agentToken: await tokens.signAgent({ runId, expiresAt, inside: false, version }), expiresAt };
}

/** The token inside the sandbox, valid only for calls from there. Deterministic. */
function insideToken(tokens: Tokens, { id, createdAt }: RunRecord): Promise<string> {
  return tokens.signAgent({ runId: id, expiresAt: endOf(createdAt), inside: true });
}

function endOf(from: Date): Date {
  return new Date(from.getTime() + AGENT_TOKEN_HOURS * 3_600_000);
}

interface RotateTokenDeps {
  readonly records: Pick<Records, 'runs'>;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

/**
 * A new token for a run's agent. Revokes the earlier one, but not the one inside its sandbox.
 * @throws PortholeError `run_ended`
 */
export async function rotateAgentToken(
  { records, tokens, clock }: RotateTokenDeps,
  { id }: RunRecord,
): Promise<{ readonly agentToken: string; readonly expiresAt: Date }> {
  const run = await records.runs.rotateToken(id);
  if (run !== undefined) return outsideToken(tokens, run, clock.now());
  throw new PortholeError('run_ended', `Run ${id} is completed`, { remedy: 'start a new run.' });
}

interface AgentConnectedDeps {
  readonly records: Pick<Records, 'timeline'>;
  readonly clock: Clock;
}

/** Versions of agent tokens that this process has recorded, so that a call costs no write. */
const MAX_RECORDED = 1_000;
const recorded = new LRUCache<string, true>({ max: MAX_RECORDED });

/** Adds the first call of an agent to the timeline, once for each version of its token. */
export async function recordAgentConnected(
  { records, clock }: AgentConnectedDeps,
  { id, tokenVersion }: Pick<RunRecord, 'id' | 'tokenVersion'>,
): Promise<void> {
  const key = `${id} ${tokenVersion}`;
  if (recorded.has(key)) return;
  await records.timeline.append(id, [agentConnected(tokenVersion)], clock.now());
  recorded.set(key, true);
}

export interface ProvisionRunsDeps {
  readonly records: Pick<Records, 'runs' | 'sandboxes'>;
  readonly sandboxes: Pick<Sandboxes, 'callGuest'>;
  readonly tokens: Tokens;
  readonly channel: Channel;
}

/** Maximum runs of one sandbox that are provisioned, newest first. */
const MAX_RUNS = 32;

/** Longest time that a run's start waits for provisioning, in milliseconds. */
const WITHIN_MS = 10_000;

/**
 * Provisions the running runs of a sandbox inside it, for the `porthole` command: each with its
 * token in a file that only the sandbox's user may read. Removes completed runs. Idempotent;
 * required after each start of the sandbox, because the files are in memory.
 * @throws PortholeError `exec_transport_error` if they cannot be written, and the errors of
 * `callGuest`
 */
export async function provisionRuns(
  { records, sandboxes, tokens, channel }: ProvisionRunsDeps,
  sandboxId: string,
  signal?: AbortSignal,
): Promise<void> {
  const ids = await records.runs.inSandbox(sandboxId);
  if (ids.length === 0) return;
  const address = await channel.address(sandboxId);
  if (address === undefined) return;
  const sandbox = await records.sandboxes.get(sandboxId);
  const tunnels = sandbox && implicitRunId(sandbox);
  const known = await Promise.all(ids.slice(-MAX_RUNS).map((id) => records.runs.get(id)));
  // The run of the tunnels has no agent: the sandbox must not see or stop its URLs.
  const ofAgents = known.filter((run) => run !== undefined).filter(({ id }) => id !== tunnels);
  const running = ofAgents.filter(({ status }) => status === 'running');
  const body: RunsRequest = {
    running: await Promise.all(
      running.map(async (run) => {
        const agentToken = await insideToken(tokens, run);
        return { id: run.id, access: agentAccess({ runId: run.id, agentToken, address }) };
      }),
    ),
    ended: ofAgents.filter(({ status }) => status !== 'running').map(({ id }) => id),
  };
  await guestsOf(sandboxes)
    .of(sandboxId)
    .call('PUT', '/v1/runs', NOTHING, { body, signal: anySignal(signal, AbortSignal.timeout(WITHIN_MS)) });
}

/** Provisions a sandbox's runs. Never rejects: a run works without the `porthole` command. */
export type ProvisionAccess = (sandboxId: string, signal?: AbortSignal) => Promise<void>;
