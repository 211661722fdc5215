import * as z from 'zod/mini';
import { outputCut } from '#guest/protocol/answers.ts';
import { OUTPUT_EVENTS, type OutputEventName, processExit } from '#guest/protocol/processes-protocol.ts';
import { PortholeError } from '../errors.ts';
import type { ServerSentEvent } from '../shared/server-sent-events.ts';
import { getProcess, type ProcessRef } from './sandbox-processes.ts';
import { type GuestDeps, type ReachedGuest, reachGuest } from './reach-guest.ts';
import { getServer, type ServerRef } from './sandbox-servers.ts';

/** One event of output. */
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

/** The output of a process, once it is known to exist. */
export async function followProcess(
  deps: GuestDeps,
  ref: ProcessRef,
  range: OutputRange,
): Promise<AsyncIterable<OutputEvent>> {
  await getProcess(deps, ref);
  const path = `/v1/processes/${ref.processId}/output?${queryOf(range)}`;
  return follow(deps, await reachGuest(deps, ref.caller, ref.sandboxId), path, ref.signal);
}

export async function followServer(
  deps: GuestDeps,
  ref: ServerRef,
  range: OutputRange,
): Promise<AsyncIterable<OutputEvent>> {
  await getServer(deps, ref);
  const path = `/v1/servers/${ref.name}/logs?${queryOf(range)}`;
  return follow(deps, await reachGuest(deps, ref.caller, ref.sandboxId), path, ref.signal);
}

function queryOf({ since, follow: follows, tail }: OutputRange): string {
  return new URLSearchParams({
    ...(since !== undefined && { since: String(since) }),
    follow: String(follows),
    ...(tail !== undefined && { tail: String(tail) }),
  }).toString();
}

async function* follow(
  { activity }: Pick<GuestDeps, 'activity'>,
  { guest, sandbox }: ReachedGuest,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<OutputEvent> {
  // Reading output counts as use of the sandbox.
  const end = activity.begin(sandbox.id);
  try {
    for await (const event of guest.events(path, signal)) yield validOutput(sandbox.id, event);
  } finally {
    end();
  }
}

const eventName = z.enum(OUTPUT_EVENTS);
const cursor = z.optional(z.string().check(z.regex(/^\d{1,16}$/)));
const base64 = z.string().check(z.regex(/^[A-Za-z0-9+/]*={0,2}$/));

/** @throws PortholeError `exec_transport_error` for what the protocol does not have */
function validOutput(sandboxId: string, { event, data, id }: ServerSentEvent): OutputEvent {
  try {
    const name = eventName.parse(event);
    const json = name === 'cut' ? outputCut : name === 'exit' ? processExit : undefined;
    const valid = json === undefined ? base64.parse(data) : JSON.stringify(json.parse(JSON.parse(data)));
    return { event: name, data: valid, id: cursor.parse(id) };
  } catch (cause) {
    throw new PortholeError('exec_transport_error', `Sandbox ${sandboxId}: its guest breaks the protocol.`, {
      remedy: 'Stop and resume the sandbox.',
      cause,
    });
  }
}
