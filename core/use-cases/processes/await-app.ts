import { type GuestEvent, guestEvents } from '#guest/protocol/ports.ts';
import { processList } from '#guest/protocol/processes.ts';
import { type ServerInfo, serverList } from '#guest/protocol/servers.ts';
import type { Guest, Guests } from '../guest.ts';
import type { ServerSentEvent } from '../guest-answers.ts';
import type { PreviewPlane, Readiness } from '../../ports/preview-plane.ts';
import type { PreviewOptions } from '../../preview-options.ts';
import type { StartedPreview } from '../start-preview.ts';
import { portReaches } from './ports.ts';

export interface AwaitAppDeps {
  readonly guests: Guests;
  readonly plane: Pick<PreviewPlane, 'serves'>;
  readonly preview: Pick<PreviewOptions, 'readyTimeoutSeconds'>;
}

/** A process that was started so lately may be about to listen, in ms. */
const FRESH_MS = 30_000;
/** What a failed server printed last. */
const LOG = { lines: 20, characters: 8_000 } as const;

/**
 * Waits for the app of a preview that was just started: for the readiness of a declared server of the port, else for the port
 * while a process that was just started runs; at most `ReadyTimeoutSeconds`. A server that fails is `server_failed` with its
 * last lines.
 */
export async function awaitApp(
  { guests, plane, preview: { readyTimeoutSeconds } }: AwaitAppDeps,
  { preview, readiness }: StartedPreview,
  signal?: AbortSignal,
): Promise<Readiness> {
  const limit = AbortSignal.timeout(readyTimeoutSeconds * 1_000);
  const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  try {
    const guest = guests.of(preview.sandboxId);
    const outcome = await awaitPort(guest, preview.targetPort, readiness, until);
    if (outcome === undefined) return readiness;
    return outcome === 'listens' ? await plane.serves(preview, signal) : outcome;
  } catch {
    // A guest that cannot be asked keeps no preview from opening.
    signal?.throwIfAborted();
    return readiness;
  }
}

/** Undefined: there is nothing to wait for. */
async function awaitPort(
  guest: Guest,
  port: number,
  first: Readiness,
  until: AbortSignal,
): Promise<Readiness | 'listens' | undefined> {
  const { value } = await guest.call('GET', '/v1/servers', serverList, { signal: until });
  const server = value.servers.find((each) => each.port === port);
  if (server !== undefined) return awaitServer(guest, server, until);
  if (first.ready || first.reason !== 'nothing_listens') return undefined;
  if (!(await hasFreshProcess(guest, until))) return undefined;
  await portReaches(guest, { port, state: 'listening', timeoutMs: FRESH_MS }, until);
  return 'listens';
}

async function hasFreshProcess(guest: Guest, signal: AbortSignal): Promise<boolean> {
  const { value } = await guest.call('GET', '/v1/processes', processList, { signal });
  // The guest's own clock may be off: only its instants are compared.
  const newest = value.processes.map(({ started_at }) => Date.parse(started_at)).toSorted((a, b) => b - a);
  const since = Math.max(Date.now(), newest[0] ?? 0) - FRESH_MS;
  return value.processes.some(
    ({ state, started_at }) => state === 'running' && Date.parse(started_at) > since,
  );
}

async function awaitServer(
  guest: Guest,
  { name, state }: ServerInfo,
  until: AbortSignal,
): Promise<Readiness | 'listens' | undefined> {
  if (state === 'ready') return undefined;
  if (HAS_ENDED.has(state)) return failed(guest, name, until);
  for await (const event of guest.events('/v1/events', until)) {
    const now = stateIn(event, name);
    if (now === 'ready') return 'listens';
    if (now !== undefined && HAS_ENDED.has(now)) return failed(guest, name, until);
  }
  return undefined;
}

const HAS_ENDED: ReadonlySet<ServerInfo['state']> = new Set(['failed', 'exited', 'stopped']);

function stateIn({ event, data }: ServerSentEvent, name: string): ServerInfo['state'] | undefined {
  if (event === 'snapshot') {
    const { servers } = guestEvents.snapshot.parse(JSON.parse(data));
    return servers.find((server) => server.name === name)?.state;
  }
  if (event !== 'server') return undefined;
  const change: Extract<GuestEvent, { name: 'server' }>['data'] = guestEvents.server.parse(JSON.parse(data));
  return change.name === name ? change.state : undefined;
}

async function failed(guest: Guest, server: string, signal: AbortSignal): Promise<Readiness> {
  return { ready: false, reason: 'server_failed', server, log: await lastLines(guest, server, signal) };
}

/** What a server printed last, for people. */
export async function lastLines(
  guest: Guest,
  server: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  const path = `/v1/servers/${server}/logs?tail=${LOG.lines}&follow=false`;
  for await (const { event, data } of guest.events(path, signal)) {
    if (event !== 'stdout' && event !== 'stderr') continue;
    const chunk = Buffer.from(data, 'base64');
    chunks.push(chunk);
    length += chunk.length;
    if (length > 64 * LOG.characters) break;
  }
  const text = Buffer.concat(chunks).toString().slice(-LOG.characters);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-LOG.lines);
}
