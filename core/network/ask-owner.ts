import * as z from 'zod/mini';
import { PortholeError } from '#base/errors.ts';
import type { NetworkOptions, NetworkQuestion } from './network.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Guests } from '../processes/guest.ts';
import { waitForApproval, type WaitForApprovalDeps } from '../approvals/wait-for-approval.ts';

/**
 * How long a connection waits for its owner, in milliseconds: clients time out after about a
 * minute.
 */
const PATIENCE_MS = 60_000;

/** How long a refusal is cached per destination and run, in milliseconds, because tools retry. */
const REFUSED_MS = 30_000;

/** Maximum connections of one sandbox that wait for a decision. */
const MAX_WAITING = 32;

const UNASKED = 'not on the list';

/**
 * The tool name of a question about a host. Policies and denials apply to a tool, and so to this
 * host and port only.
 */
export function networkTool(host: string, port: number): string {
  return `network:${host}:${port}`;
}

export function isNetworkTool(tool: string): boolean {
  return tool.startsWith('network:');
}

export interface AskOwnerDeps extends WaitForApprovalDeps {
  readonly records: WaitForApprovalDeps['records'] & Pick<Records, 'policies' | 'runs'>;
  readonly guests: Guests;
  readonly options: NetworkOptions;
}

/**
 * Asks the owner of a sandbox's run about a destination. Resolves with the reason of a refusal, or
 * undefined if allowed.
 */
export type AskOwner = (question: NetworkQuestion, signal: AbortSignal) => Promise<string | undefined>;

export function askOwner(deps: AskOwnerDeps): AskOwner {
  const { records, clock, options } = deps;
  const refusals = new Map<string, { readonly until: number; readonly why: string }>();
  const waiting = new Map<string, number>();

  const ask = async (run: RunRecord, question: NetworkQuestion, signal: AbortSignal) => {
    const { host, port } = question;
    const command = await commandOf(deps.guests, question);
    const call = {
      run,
      tool: networkTool(host, port),
      byAgent: true,
      args: { host, port },
      message: `Allow ${command === undefined ? 'a program' : `\`${command}\``} to connect to ${host}, port ${port}?`,
    };
    const late = AbortSignal.timeout(PATIENCE_MS);
    try {
      const approval = await waitForApproval(deps, call, { signal: AbortSignal.any([signal, late]) });
      await records.approvals.take(approval.id, clock.now());
      return undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      if (late.aborted) return 'no answer from the owner within a minute';
      if (error instanceof PortholeError) return REASONS[error.code] ?? UNASKED;
      throw error;
    }
  };

  return async (question, signal) => {
    const { sandboxId, host, port } = question;
    if (options.widest === 'off' || options.widest === 'packages') return UNASKED;
    const run = await runningRun(records, sandboxId);
    if (run === undefined) return UNASKED;
    const tool = networkTool(host, port);
    const policy = await records.policies.covering(run.owner, run.id, tool, { host, port });
    if (policy !== undefined) return undefined;
    const key = `${run.id} ${tool}`;
    const refused = refusals.get(key);
    if (refused !== undefined && refused.until > performance.now()) return refused.why;
    const open = waiting.get(sandboxId) ?? 0;
    if (open >= MAX_WAITING) return 'too many open questions';
    waiting.set(sandboxId, open + 1);
    try {
      const why = await ask(run, question, signal);
      forgetOld(refusals);
      if (why === undefined) refusals.delete(key);
      else refusals.set(key, { until: performance.now() + REFUSED_MS, why });
      return why;
    } finally {
      const left = (waiting.get(sandboxId) ?? 1) - 1;
      if (left === 0) waiting.delete(sandboxId);
      else waiting.set(sandboxId, left);
    }
  };
}

const REASONS: Readonly<Record<string, string>> = {
  approval_denied: 'denied by the owner',
  approval_timed_out: 'no answer from the owner',
  too_many_approvals: 'too many questions in a few minutes',
  run_ended: 'its run has ended',
};

function forgetOld(refusals: Map<string, { readonly until: number }>): void {
  for (const [key, { until }] of refusals) if (until <= performance.now()) refusals.delete(key);
}

/** The newest running run of the sandbox. */
async function runningRun(
  { runs }: Pick<Records, 'runs'>,
  sandboxId: string,
): Promise<RunRecord | undefined> {
  for (const id of (await runs.inSandbox(sandboxId)).toReversed()) {
    const run = await runs.get(id);
    if (run?.status === 'running') return run;
  }
  return undefined;
}

const connection = z.object({ command: z.nullable(z.string().check(z.maxLength(1_000))) });

/** Maximum length of a command in a question. */
const MAX_COMMAND_CHARS = 200;

/** Reported by the sandbox, so it may be wrong. Undefined if unknown. */
async function commandOf(
  guests: Guests,
  { sandboxId, clientPort }: NetworkQuestion,
): Promise<string | undefined> {
  if (clientPort === undefined) return undefined;
  try {
    const path = `/v1/connections/${clientPort}`;
    const { value } = await guests.of(sandboxId).call('GET', path, connection, { answerWithin: 1_000 });
    const command = value.command?.replace(/[^\x20-\x7e]|`/g, ' ').slice(0, MAX_COMMAND_CHARS);
    return command === undefined || command.trim() === '' ? undefined : command;
  } catch {
    return undefined;
  }
}
