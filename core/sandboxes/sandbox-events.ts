import type { GuestEvent } from '#protocol/guest/ports-protocol.ts';
import type { EventData, NewEvent } from '../runs/timeline.ts';

/** Types of events that followers of a sandbox receive. */
export type SandboxEventType =
  | 'file_written'
  | 'file_deleted'
  | 'exec'
  | 'stopped'
  | 'resumed'
  | 'preview_opened'
  | 'port_listening'
  | 'port_closed'
  | 'server'
  | 'process_started'
  | 'process_exited'
  | 'network';

export interface NewSandboxEvent {
  readonly type: SandboxEventType;
  readonly at: Date;
  /** Delegates read it too: never a token, a URL or a key of ours. */
  readonly data: EventData;
  /** Idempotency key: an event with a key that the sandbox already has is not stored. */
  readonly key?: string | undefined;
}

export interface SandboxEvent extends Omit<NewSandboxEvent, 'key'> {
  /** Ascending within its sandbox. No event is added before a readable one. */
  readonly seq: number;
}

/** Recent events of sandboxes. Best effort: events may be lost. */
export interface SandboxEventRecords {
  /**
   * Appends them to the sandbox's log, and deletes all but its last `kept` events. Does nothing if
   * the sandbox does not exist.
   */
  append(sandboxId: string, events: readonly NewSandboxEvent[], kept: number): Promise<void>;
  /**
   * The sandbox's events after `after` (0: from the first), oldest first.
   * `invalid_request` on a limit outside 1..1000.
   */
  read(
    sandboxId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly SandboxEvent[]; readonly more: boolean }>;
  /**
   * Calls `wake` after each append by any instance. Wakes may be spurious or late. Returns the
   * function that ends the watch.
   */
  watch(sandboxId: string, wake: () => void): () => void;
  /** Events of a type since then, newest first. */
  since(
    sandboxId: string,
    type: SandboxEventType,
    from: Date,
    limit: number,
  ): Promise<readonly SandboxEvent[]>;
  /** When a command ended or a file changed last, in each sandbox in which that was since then. */
  lastChanges(from: Date): Promise<readonly { readonly sandboxId: string; readonly at: Date }[]>;
  /** Deletes events older than `before`; returns how many. */
  forget(before: Date): Promise<number>;
}

/** One change, as an event of the sandbox and of the timelines of its runs. */
interface GuestEvents {
  readonly sandbox: Pick<NewSandboxEvent, 'type' | 'data'>;
  readonly run: NewEvent;
}

type Change = Exclude<GuestEvent, { name: 'snapshot' }>;

/**
 * Undefined for the process of a server: the server's events report when it starts and exits. Keys
 * are the same for every reader. `closed` is the former listener of a closed port.
 */
export function guestEventsOf(
  change: Change,
  redact: (text: string) => string,
  closed?: PortSeen,
): GuestEvents | undefined {
  switch (change.name) {
    case 'port': {
      const { port, state, listener, at } = change.data;
      const owner = { server: listener?.server ?? null, process_id: listener?.process_id ?? null };
      const data = { port, ...(state === 'listening' ? owner : {}) };
      const key = `port:${port}:${state}:${(listener ?? closed)?.since ?? at}`;
      return eventsOf(`port_${state}`, `port.${state}`, key, data);
    }
    case 'server': {
      const { name, state, reason, at } = change.data;
      const data = { server: name, state, reason: reason === null ? null : redact(reason) };
      return eventsOf('server', 'server.changed', `server:${name}:${state}:${at}`, data);
    }
    case 'process_started':
      return change.data.started_by.kind === 'server' ? undefined : processStarted(change.data, redact);
    case 'process':
      return change.data.started_by.kind === 'server' ? undefined : processExited(change.data, redact);
    default:
      return undefined;
  }
}

function eventsOf(
  sandbox: SandboxEventType,
  run: NewEvent['type'],
  key: string,
  data: EventData,
): GuestEvents {
  return { sandbox: { type: sandbox, data }, run: { type: run, key, data } };
}

function processStarted(
  { id, name, command, started_by }: Extract<Change, { name: 'process_started' }>['data'],
  redact: (text: string) => string,
): GuestEvents {
  const data = {
    process_id: id,
    name,
    command: redact(command),
    started_by: started_by.kind,
    ...(started_by.kind === 'person' && { user: started_by.id }),
  };
  return eventsOf('process_started', 'process.started', `process:${id}:started`, data);
}

function processExited(
  { id, name, command, exit }: Extract<Change, { name: 'process' }>['data'],
  redact: (text: string) => string,
): GuestEvents {
  const { code, signal, reason, duration_ms } = exit;
  const data = {
    process_id: id,
    name,
    command: redact(command),
    exit_code: code,
    signal,
    reason,
    duration_ms,
  };
  return eventsOf('process_exited', 'process.exited', `process:${id}`, data);
}

/**
 * The changes since the last known snapshot: after a lost connection only changes that were undone
 * in between are missing.
 */
export function changesSince(
  known: ReadonlyMap<number, PortSeen>,
  { ports, started_at }: Extract<GuestEvent, { name: 'snapshot' }>['data'],
  now: string,
): readonly Extract<Change, { name: 'port' }>[] {
  const present = new Map(ports.map((listener) => [listener.port, listener]));
  const closed = [...known.values()]
    .filter(({ port, since }) => present.get(port)?.since !== since)
    .map(({ port }) => portChange(port, 'closed', now < started_at ? started_at : now, null));
  const opened = ports
    .filter(({ port, since }) => known.get(port)?.since !== since)
    .map((listener) => portChange(listener.port, 'listening', listener.since, listener));
  return [...closed, ...opened];
}

export type PortSeen = Extract<GuestEvent, { name: 'snapshot' }>['data']['ports'][number];

function portChange(
  port: number,
  state: 'listening' | 'closed',
  at: string,
  listener: PortSeen | null,
): Extract<Change, { name: 'port' }> {
  return { name: 'port', data: { port, state, at, listener } };
}
