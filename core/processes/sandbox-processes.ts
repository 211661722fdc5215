/** Operations that processes and declared servers of a sandbox have in common. */
import type { Readable } from 'node:stream';
import * as z from 'zod/mini';
import { inputTaken, outputCut } from '#protocol/guest/answers.ts';
import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';
import {
  OUTPUT_EVENTS,
  type OutputEventName,
  processExit,
  processInfo,
  type ProcessInfo,
  processList,
  type ProcessRequest,
} from '#protocol/guest/processes-protocol.ts';
import { serverInfo, type ServerInfo, type ServerRequest } from '#protocol/guest/servers-protocol.ts';
import type { Caller } from '../callers.ts';
import { type ErrorCode, PortholeError } from '#base/errors.ts';
import { commandEnvironment } from '../network/network-secrets.ts';
import type { GuestCall } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { ServerSentEvent } from '#base/server-sent-events.ts';
import { type Guest, type GuestCallOptions, NOTHING } from './guest.ts';
import { type AnswerSchema, eventData } from './guest-answers.ts';
import {
  type GuestDeps,
  mayUseStarted,
  reachGuest,
  startedBy,
  startInGuest,
  withCodes,
} from './reach-guest.ts';
import { ANSWER_AFTER_WAIT, type PortsRef } from './sandbox-ports.ts';

/**
 * An input is answered once the process has taken it: at its own pace, and at most so long (ms).
 */
const INPUT_WITHIN = 600_000;

interface Infos {
  readonly processes: ProcessInfo;
  readonly servers: ServerInfo;
}

/** Which process or server, for whom. */
export interface StartedRef<K extends keyof Infos = keyof Infos> extends PortsRef {
  readonly kind: K;
  /** The id of a process, the name of a server. */
  readonly id: string;
}

interface Facts<Info> {
  readonly schema: AnswerSchema<Info>;
  readonly notFound: ErrorCode;
  /** The last part of the path of its output. */
  readonly output: string;
}

const KINDS: { readonly [K in keyof Infos]: Facts<Infos[K]> } = {
  processes: { schema: processInfo, notFound: 'process_not_found', output: 'output' },
  servers: { schema: serverInfo, notFound: 'server_not_found', output: 'logs' },
};

/** Starts a process that outlives the request; a stopped sandbox is resumed. */
export function startProcess(
  deps: GuestDeps,
  { caller, sandboxId, signal }: PortsRef,
  request: Omit<ProcessRequest, 'started_by' | 'sandbox_env'>,
): Promise<ProcessInfo> {
  return startInGuest(deps, caller, sandboxId, async ({ guest, sandbox }) => {
    const body = { ...request, ...startedFor(caller, sandbox) };
    return (await guest.call('POST', '/v1/processes', processInfo, { body, signal })).value;
  });
}

/**
 * Declares a server and starts it; the same declaration again starts it if it does not run.
 * @throws PortholeError `server_exists` where another declaration has the name
 */
export function putServer(
  deps: GuestDeps,
  { caller, sandboxId, id, signal }: StartedRef<'servers'>,
  request: Omit<ServerRequest, 'started_by' | 'sandbox_env'>,
): Promise<{ readonly server: ServerInfo; readonly isNew: boolean }> {
  return startInGuest(deps, caller, sandboxId, async ({ guest, sandbox }) => {
    const body = { ...request, ...startedFor(caller, sandbox) };
    const call = guest.call('PUT', `/v1/servers/${id}`, serverInfo, { body, signal });
    const { status, value } = await withCodes(call, { conflict: 'server_exists' });
    return { server: value, isNew: status === 201 };
  });
}

function startedFor(caller: Caller, sandbox: SandboxRecord) {
  return { sandbox_env: commandEnvironment(sandbox), started_by: startedBy(caller) };
}

export async function listProcesses(
  deps: GuestDeps,
  { caller, sandboxId, signal }: PortsRef,
): Promise<readonly ProcessInfo[]> {
  const { guest } = await reachGuest(deps, caller, sandboxId);
  const { value } = await guest.call('GET', '/v1/processes', processList, { signal });
  return value.processes.filter((process) => mayUseStarted(caller, process));
}

export async function listServers(
  deps: GuestDeps,
  { caller, sandboxId, signal }: PortsRef,
): Promise<readonly ServerInfo[]> {
  const { guest } = await reachGuest(deps, caller, sandboxId);
  return (await guest.servers(signal)).filter((server) => mayUseStarted(caller, server));
}

/** @throws PortholeError `process_not_found`, `server_not_found` with what exists */
export async function getStarted<K extends keyof Infos>(
  deps: GuestDeps,
  ref: StartedRef<K>,
): Promise<Infos[K]> {
  const { guest } = await reachGuest(deps, ref.caller, ref.sandboxId);
  return ownOf(guest, ref);
}

/** Ends it if it runs, and removes its output, and the declaration of a server. */
export async function removeStarted(deps: GuestDeps, ref: StartedRef): Promise<void> {
  await callStarted(deps, ref, { method: 'DELETE', path: '', schema: NOTHING });
}

/**
 * @returns how many bytes the process took. @throws PortholeError `process_exited` with the exit,
 * `conflict` without a pipe
 */
export async function sendInput(
  deps: GuestDeps,
  ref: StartedRef<'processes'>,
  { body, eof }: { readonly body: Readable; readonly eof: boolean },
): Promise<number> {
  const end = deps.activity.begin(ref.sandboxId);
  try {
    const path = `/input?eof=${eof}`;
    const ask = { method: 'POST', path, schema: inputTaken, body, answerWithin: INPUT_WITHIN } as const;
    return (await callStarted(deps, ref, ask)).bytes;
  } finally {
    end();
  }
}

/** To its whole group; after the exit nothing happens. */
export function signalProcess(
  deps: GuestDeps,
  ref: StartedRef<'processes'>,
  signal: string,
): Promise<ProcessInfo> {
  deps.activity.touch(ref.sandboxId);
  return callStarted(deps, ref, { method: 'POST', path: '/signal', schema: processInfo, body: { signal } });
}

/** @throws PortholeError `conflict` for a process without a terminal */
export function resizeProcess(
  deps: GuestDeps,
  ref: StartedRef<'processes'>,
  size: TerminalSize,
): Promise<ProcessInfo> {
  return callStarted(deps, ref, { method: 'POST', path: '/resize', schema: processInfo, body: size });
}

/** From the signals that ask a process to end until SIGKILL, in ms. */
const END_GRACE_MS = 4_000;

/**
 * Ends a process and keeps its output. An interactive shell ignores SIGTERM, and ends at SIGHUP, as
 * after the loss of its terminal. Resolves at its exit.
 */
export async function endProcess(deps: GuestDeps, ref: StartedRef<'processes'>): Promise<ProcessInfo> {
  for (const signal of ['SIGTERM', 'SIGHUP']) await signalProcess(deps, ref, signal);
  try {
    return await waitForProcess(deps, ref, END_GRACE_MS);
  } catch (error) {
    if (!(error instanceof PortholeError) || error.code !== 'wait_timed_out') throw error;
    await signalProcess(deps, ref, 'SIGKILL');
    return waitForProcess(deps, ref, END_GRACE_MS);
  }
}

/** Resolves at its exit. @throws PortholeError `wait_timed_out` */
export async function waitForProcess(
  deps: GuestDeps,
  ref: StartedRef<'processes'>,
  timeoutMs: number,
): Promise<ProcessInfo> {
  const end = deps.activity.begin(ref.sandboxId);
  try {
    return await callStarted(deps, ref, {
      method: 'POST',
      path: '/wait',
      schema: processInfo,
      body: { timeout_ms: timeoutMs },
      answerWithin: timeoutMs + ANSWER_AFTER_WAIT,
    });
  } finally {
    end();
  }
}

/** Answers at once with the state that follows; a start and a restart resume a stopped sandbox. */
export async function changeServer(
  deps: GuestDeps,
  ref: StartedRef<'servers'>,
  change: 'start' | 'stop' | 'restart',
): Promise<ServerInfo> {
  const ask = { method: 'POST', path: `/${change}`, schema: serverInfo } as const;
  if (change === 'stop') return callStarted(deps, ref, ask);
  return startInGuest(deps, ref.caller, ref.sandboxId, ({ guest }) => callOwn(guest, ref, ask));
}

interface Ask<T> extends GuestCallOptions {
  readonly method: GuestCall['method'];
  /** Below its own. */
  readonly path: string;
  readonly schema: AnswerSchema<T>;
}

async function callStarted<T>(deps: GuestDeps, ref: StartedRef, ask: Ask<T>): Promise<T> {
  const { guest } = await reachGuest(deps, ref.caller, ref.sandboxId);
  return callOwn(guest, ref, ask);
}

/** Only for a delegate with a list of commands does it matter who started it. */
async function callOwn<T>(guest: Guest, ref: StartedRef, ask: Ask<T>): Promise<T> {
  const { caller } = ref;
  if (caller.kind === 'delegate' && caller.grant.commands !== null) await ownOf(guest, ref);
  return call(guest, ref, ask);
}

async function ownOf<K extends keyof Infos>(guest: Guest, ref: StartedRef<K>): Promise<Infos[K]> {
  const { caller, sandboxId, kind, id } = ref;
  const { schema, notFound } = KINDS[kind];
  const value = await call(guest, ref, { method: 'GET', path: '', schema });
  if (mayUseStarted(caller, value)) return value;
  const [what, did] = kind === 'servers' ? ['server', 'declared'] : ['process', 'started'];
  throw new PortholeError(notFound, `Sandbox ${sandboxId}: no ${what} ${id} that this credential ${did}.`);
}

async function call<T>(
  guest: Guest,
  { kind, id, signal }: StartedRef,
  { method, path, schema, ...options }: Ask<T>,
): Promise<T> {
  const answer = guest.call(method, `/v1/${kind}/${id}${path}`, schema, { ...options, signal });
  return (await withCodes(answer, { not_found: KINDS[kind].notFound })).value;
}

export interface OutputEvent {
  readonly event: OutputEventName;
  /** Base64 of the streams' bytes; otherwise JSON. */
  readonly data: string;
  /** The cursor after it. */
  readonly id: string | undefined;
}

export interface OutputRange {
  readonly since?: number | undefined;
  readonly follow: boolean;
  /** For a server's logs: starts this many lines before the end, instead of at a cursor. */
  readonly tail?: number | undefined;
}

/**
 * Follows the output of an existing process. Yields undefined for each heartbeat of the guest.
 * @throws PortholeError `invalid_request` for a cursor beyond the end
 */
export async function followOutput(
  deps: GuestDeps,
  ref: StartedRef,
  { since, follow, tail }: OutputRange,
): Promise<AsyncIterable<OutputEvent | undefined>> {
  const { guest } = await reachGuest(deps, ref.caller, ref.sandboxId);
  const started = await ownOf(guest, ref);
  if ('output' in started && since !== undefined) checkCursor(since, started.output.next);
  const query = new URLSearchParams({
    ...(since !== undefined && { since: String(since) }),
    follow: String(follow),
    ...(tail !== undefined && { tail: String(tail) }),
  });
  const { sandboxId, kind, id, signal } = ref;
  const path = `/v1/${kind}/${id}/${KINDS[kind].output}?${query.toString()}`;
  async function* events(): AsyncGenerator<OutputEvent | undefined> {
    // Reading output counts as use of the sandbox.
    const end = deps.activity.begin(sandboxId);
    try {
      for await (const event of guest.stream(path, signal))
        yield event && (await validOutput(sandboxId, event));
    } finally {
      end();
    }
  }
  return events();
}

function checkCursor(since: number, end: number): void {
  if (since <= end) return;
  throw new PortholeError('invalid_request', `since: ${since} is beyond the end of the output, ${end}`, {
    remedy: 'send the cursor of an event of this process.',
  });
}

const eventName = z.enum(OUTPUT_EVENTS);
const cursor = z.optional(z.string().check(z.regex(/^\d{1,16}$/)));
const base64 = z.string().check(z.regex(/^[A-Za-z0-9+/]*={0,2}$/));

/** @throws PortholeError `exec_transport_error` for what the protocol does not have */
async function validOutput(sandboxId: string, came: ServerSentEvent): Promise<OutputEvent> {
  try {
    const name = eventName.parse(came.event);
    const json = name === 'cut' ? outputCut : name === 'exit' ? processExit : undefined;
    const valid =
      json === undefined
        ? base64.parse(came.data)
        : JSON.stringify(await eventData<object>(came, sandboxId, json));
    return { event: name, data: valid, id: cursor.parse(came.id) };
  } catch (cause) {
    throw new PortholeError(
      'exec_transport_error',
      `Sandbox ${sandboxId}: its guest violates the protocol.`,
      {
        remedy: 'Stop and resume the sandbox.',
        cause,
      },
    );
  }
}
