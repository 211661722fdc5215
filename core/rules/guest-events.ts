import type { GuestEvent } from '#guest/protocol/ports.ts';
import type { NewSandboxEvent } from '../ports/sandbox-events.ts';
import type { NewEvent } from '../ports/timeline.ts';

/** What happened in a sandbox, for those who follow it, and for the timelines of its runs. */
export interface GuestEvents {
  readonly sandbox: Pick<NewSandboxEvent, 'type' | 'data'>;
  readonly run: NewEvent;
}

type Change = Exclude<GuestEvent, { name: 'snapshot' }>;

/**
 * Undefined for what another event says: the process of a server starts and exits when the server changes its state.
 * Keys are the same for every reader, whenever it began. `closed` is the listener that a port had.
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
      return {
        sandbox: { type: `port_${state}`, data },
        run: {
          type: `port.${state}`,
          key: `port:${port}:${state}:${(listener ?? closed)?.since ?? at}`,
          data,
        },
      };
    }
    case 'server': {
      const { name, state, reason, at } = change.data;
      const data = { server: name, state, reason: reason === null ? null : redact(reason) };
      return {
        sandbox: { type: 'server', data },
        run: { type: 'server.changed', key: `server:${name}:${state}:${at}`, data },
      };
    }
    case 'process_started':
      return change.data.started_by.kind === 'server' ? undefined : processStarted(change.data, redact);
    case 'process':
      return change.data.started_by.kind === 'server' ? undefined : processExited(change.data, redact);
    default:
      return undefined;
  }
}

function processStarted(
  { id, name, command, started_by }: Extract<Change, { name: 'process_started' }>['data'],
  redact: (text: string) => string,
): GuestEvents {
  const data = { process_id: id, name, command: redact(command), started_by: started_by.kind };
  return {
    sandbox: { type: 'process_started', data },
    run: { type: 'process.started', key: `process:${id}:started`, data },
  };
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
  return {
    sandbox: { type: 'process_exited', data },
    run: { type: 'process.exited', key: `process:${id}`, data },
  };
}

/** What has changed since the last one was known: a connection that is lost loses no change, only what came between. */
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
