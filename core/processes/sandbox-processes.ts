import { commandEnvironment } from '../network/network-secrets.ts';
import type { Readable } from 'node:stream';
import { inputTaken } from '#guest/protocol/answers.ts';
import {
  processInfo,
  type ProcessInfo,
  processList,
  type ProcessRequest,
} from '#guest/protocol/processes-protocol.ts';
import type { TerminalSize } from '#guest/protocol/exec-protocol.ts';
import type { Caller } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { GuestCall } from '../sandboxes/sandbox-provider.ts';
import { type GuestCallOptions, NOTHING } from './guest.ts';
import type { AnswerSchema } from './guest-answers.ts';
import {
  type GuestDeps,
  mayUseStarted,
  reachGuest,
  startedBy,
  startInGuest,
  withCodes,
} from './reach-guest.ts';

/**
 * An input is answered once the process has taken it: at its own pace, and at most so long (ms).
 */
const INPUT_WITHIN = 600_000;
/** Beyond the time that a wait may take, in ms. */
const ANSWER_AFTER_WAIT = 10_000;

/** Which process, for whom. */
export interface ProcessRef {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly processId: string;
  readonly signal?: AbortSignal | undefined;
}

/** Starts a process that outlives the request; a stopped sandbox is resumed. */
export function startProcess(
  deps: GuestDeps,
  { caller, sandboxId, signal }: Omit<ProcessRef, 'processId'>,
  request: Omit<ProcessRequest, 'started_by' | 'sandbox_env'>,
): Promise<ProcessInfo> {
  return startInGuest(deps, caller, sandboxId, async ({ guest, sandbox }) => {
    const body = { ...request, sandbox_env: commandEnvironment(sandbox), started_by: startedBy(caller) };
    const { value } = await guest.call('POST', '/v1/processes', processInfo, { body, signal });
    return value;
  });
}

export async function listProcesses(
  deps: GuestDeps,
  { caller, sandboxId, signal }: Omit<ProcessRef, 'processId'>,
): Promise<readonly ProcessInfo[]> {
  const { guest } = await reachGuest(deps, caller, sandboxId);
  const { value } = await guest.call('GET', '/v1/processes', processList, { signal });
  return value.processes.filter((process) => mayUseStarted(caller, process));
}

/** @throws PortholeError `process_not_found` with the ids that exist */
export async function getProcess(deps: GuestDeps, ref: ProcessRef): Promise<ProcessInfo> {
  const { guest } = await reachGuest(deps, ref.caller, ref.sandboxId);
  const path = `/v1/processes/${ref.processId}`;
  const call = guest.call('GET', path, processInfo, { signal: ref.signal });
  const { value } = await withCodes(call, { not_found: 'process_not_found' });
  if (mayUseStarted(ref.caller, value)) return value;
  throw new PortholeError(
    'process_not_found',
    `Sandbox ${ref.sandboxId}: no process ${ref.processId} that this credential started.`,
  );
}

/** Kills it if it runs, and removes its output. */
export async function removeProcess(deps: GuestDeps, ref: ProcessRef): Promise<void> {
  await callProcess(deps, ref, 'DELETE', '', NOTHING);
}

/**
 * @returns how many bytes the process took. @throws PortholeError `process_exited` with the exit,
 * `conflict` without a pipe
 */
export async function sendInput(
  deps: GuestDeps,
  ref: ProcessRef,
  { body, eof }: { readonly body: Readable; readonly eof: boolean },
): Promise<number> {
  const end = deps.activity.begin(ref.sandboxId);
  try {
    const options = { body, answerWithin: INPUT_WITHIN };
    return (await callProcess(deps, ref, 'POST', `/input?eof=${eof}`, inputTaken, options)).bytes;
  } finally {
    end();
  }
}

/** To its whole group; after the exit nothing happens. */
export function signalProcess(deps: GuestDeps, ref: ProcessRef, signal: string): Promise<ProcessInfo> {
  deps.activity.touch(ref.sandboxId);
  return callProcess(deps, ref, 'POST', '/signal', processInfo, { body: { signal } });
}

/** @throws PortholeError `conflict` for a process without a terminal */
export function resizeProcess(deps: GuestDeps, ref: ProcessRef, size: TerminalSize): Promise<ProcessInfo> {
  return callProcess(deps, ref, 'POST', '/resize', processInfo, { body: size });
}

/** Resolves at its exit. @throws PortholeError `wait_timed_out` */
export async function waitForProcess(
  deps: GuestDeps,
  ref: ProcessRef,
  timeoutMs: number,
): Promise<ProcessInfo> {
  const end = deps.activity.begin(ref.sandboxId);
  try {
    return await callProcess(deps, ref, 'POST', '/wait', processInfo, {
      body: { timeout_ms: timeoutMs },
      answerWithin: timeoutMs + ANSWER_AFTER_WAIT,
    });
  } finally {
    end();
  }
}

async function callProcess<T>(
  deps: GuestDeps,
  ref: ProcessRef,
  method: GuestCall['method'],
  path: string,
  schema: AnswerSchema<T>,
  options: GuestCallOptions = {},
): Promise<T> {
  const { caller, sandboxId, processId, signal } = ref;
  // Only for a delegate with a list of commands does it matter who started the process.
  if (caller.kind === 'delegate' && caller.grant.commands !== null) await getProcess(deps, ref);
  const { guest } = await reachGuest(deps, caller, sandboxId);
  const call = guest.call(method, `/v1/processes/${processId}${path}`, schema, { ...options, signal });
  return (await withCodes(call, { not_found: 'process_not_found' })).value;
}

/** For answers without a body. */
