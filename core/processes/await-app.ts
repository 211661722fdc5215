import { guestEvents } from '#protocol/guest/ports-protocol.ts';
import { processList } from '#protocol/guest/processes-protocol.ts';
import type { ServerInfo } from '#protocol/guest/servers-protocol.ts';
import { collectOutput } from './collect-output.ts';
import type { Guest, Guests } from './guest.ts';
import type { ServerSentEvent } from '#base/server-sent-events.ts';
import type { PreviewPlane, Readiness } from '../previews/preview-plane.ts';
import type { PreviewOptions } from '../previews/preview-limits.ts';
import type { StartedPreview } from '../previews/start-preview.ts';
import { anySignal } from '#base/concurrency.ts';
import { portReaches } from './sandbox-ports.ts';
import { traced } from '../telemetry/tracing.ts';

export interface AwaitAppDeps {
  readonly guests: Guests;
  readonly plane: Pick<PreviewPlane, 'awaitReady'>;
  readonly previewSettings: Pick<PreviewOptions, 'readyTimeoutSeconds'>;
}

/** A process that started less than this long ago may be about to listen, in ms. */
const FRESH_MS = 30_000;
/** What a failed server printed last. */
const LOG = { lines: 20, characters: 8_000 } as const;

/**
 * Waits for the app of a preview that was just started: for the readiness of a declared server of
 * the port, else for the port while a process that was just started runs; at most
 * `ReadyTimeoutSeconds`, then the plane checks once more. A server that fails, or ends again and
 * again, is `server_failed` with its last lines.
 */
export function awaitApp(
  deps: AwaitAppDeps,
  started: StartedPreview,
  signal?: AbortSignal,
): Promise<Readiness> {
  return traced({ name: 'preview.readiness' }, async (span) => {
    const readiness = await readinessOf(deps, started, signal);
    span?.set({ 'porthole.preview.ready': readiness.ready });
    return readiness;
  });
}

async function readinessOf(
  { guests, plane, previewSettings: { readyTimeoutSeconds } }: AwaitAppDeps,
  { preview, readiness }: StartedPreview,
  signal?: AbortSignal,
): Promise<Readiness> {
  const until = anySignal(signal, AbortSignal.timeout(readyTimeoutSeconds * 1_000));
  try {
    const guest = guests.of(preview.sandboxId);
    const outcome = await awaitPort(guest, preview.targetPort, readiness, { until, signal });
    if (outcome === undefined) return readiness;
    return outcome === 'listens' ? await plane.awaitReady(preview, signal) : outcome;
  } catch {
    // An unreachable guest must not keep a preview from opening.
    signal?.throwIfAborted();
    return readiness;
  }
}

interface Patience {
  /** The end of the wait. */
  readonly until: AbortSignal;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
}

/** Undefined if there is nothing to wait for. */
async function awaitPort(
  guest: Guest,
  port: number,
  first: Readiness,
  patience: Patience,
): Promise<Readiness | 'listens' | undefined> {
  const { until } = patience;
  const server = (await guest.servers(until)).find((each) => each.port === port);
  const wasSilent = !first.ready && first.reason === 'nothing_listens';
  // It may have become ready since the plane looked.
  if (server?.state === 'ready') return wasSilent ? 'listens' : undefined;
  if (server !== undefined) return awaitServer(guest, server, patience);
  if (!wasSilent) return undefined;
  if (!(await hasFreshProcess(guest, until))) return undefined;
  await portReaches(guest, { port, state: 'listening', timeoutMs: FRESH_MS }, until);
  return 'listens';
}

async function hasFreshProcess(guest: Guest, signal: AbortSignal): Promise<boolean> {
  const { value } = await guest.call('GET', '/v1/processes', processList, { signal });
  // A guest's clock may be ahead of this one: its newest instant then counts as now.
  const newest = value.processes.map(({ started_at }) => Date.parse(started_at)).toSorted((a, b) => b - a);
  const since = Math.max(Date.now(), newest[0] ?? 0) - FRESH_MS;
  return value.processes.some(
    ({ state, started_at }) => state === 'running' && Date.parse(started_at) > since,
  );
}

/** Exits in a row after which a restarting server counts as failed. */
const MAX_ENDS = 2;

async function awaitServer(
  guest: Guest,
  { name, state }: ServerInfo,
  { until, signal }: Patience,
): Promise<Readiness | 'listens' | undefined> {
  let last = state;
  let ends = state === 'waiting' ? 1 : 0;
  try {
    if (HAS_ENDED.has(state)) return await failed(guest, name, signal);
    for await (const event of guest.events('/v1/events', until)) {
      const now = (await stateIn(event, name, guest)) ?? last;
      if (now === 'ready') return 'listens';
      if (now === 'waiting' && last !== 'waiting') ends += 1;
      last = now;
      if (HAS_ENDED.has(now) || ends >= MAX_ENDS) return await failed(guest, name, signal);
    }
  } catch (error) {
    if (!until.aborted) throw error;
  }
  signal?.throwIfAborted();
  return ends > 0 ? failed(guest, name, signal) : { ready: false, reason: 'starting' };
}

const HAS_ENDED: ReadonlySet<ServerInfo['state']> = new Set(['failed', 'exited', 'stopped']);

async function stateIn(
  came: ServerSentEvent,
  name: string,
  guest: Guest,
): Promise<ServerInfo['state'] | undefined> {
  if (came.event === 'snapshot') {
    const { servers } = await guest.data(came, guestEvents.snapshot);
    return servers.find((server) => server.name === name)?.state;
  }
  if (came.event !== 'server') return undefined;
  const change = await guest.data(came, guestEvents.server);
  return change.name === name ? change.state : undefined;
}

/** Extra time after the wait to read the server's output, in ms. */
const LOG_WITHIN_MS = 5_000;

async function failed(guest: Guest, server: string, signal: AbortSignal | undefined): Promise<Readiness> {
  const until = anySignal(signal, AbortSignal.timeout(LOG_WITHIN_MS));
  const log = await lastLines(guest, server, until);
  return { ready: false, reason: 'server_failed', server, log };
}

/** What a server printed last, for people. */
export async function lastLines(
  guest: Guest,
  server: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = `/v1/servers/${server}/logs?tail=${LOG.lines}&follow=false`;
  const output = await collectOutput(guest.events(path, signal), 64 * LOG.characters);
  const text = output.toString().slice(-LOG.characters);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-LOG.lines);
}
