import { portList } from '#protocol/guest/ports-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import type { AppProbe, HttpFinding, UpgradeFinding } from '../previews/app-probe.ts';
import type { PreviewPlane } from '../previews/preview-plane.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { SandboxObservation, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { PreviewOptions } from '../previews/preview-limits.ts';
import { type Framework, guessFramework } from './framework.ts';
import { type Listener, readListeners } from './listeners.ts';
import { type PortAdvice, portAdvice } from './port-advice.ts';
import { guestsOf } from '../processes/guest.ts';
import { anySignal } from '#base/concurrency.ts';

export interface DiagnoseSandboxDeps {
  readonly sandboxes: Pick<Sandboxes, 'inspect' | 'callGuest' | 'dial'>;
  readonly plane: Pick<PreviewPlane, 'needsOpenAddress'>;
  readonly previewSettings: PreviewOptions;
  readonly probe: AppProbe;
}

export interface PortDiagnosis extends PortAdvice {
  readonly port: number;
  readonly listener: Listener | undefined;
  readonly http: HttpFinding | { readonly kind: 'refused' };
  readonly framework: Framework | undefined;
  /** If HTTP answers: whether a WebSocket works, at the framework's own path or at `/`. */
  readonly websocket: UpgradeFinding | undefined;
}

export interface Diagnosis {
  readonly sandbox: SandboxObservation['state'];
  /** All listeners; undefined if the sandbox does not run. */
  readonly listeners: readonly Listener[] | undefined;
  /** The requested port, or all listening ports, those that previews may expose first. */
  readonly ports: readonly PortDiagnosis[];
  /** One sentence on the whole sandbox. */
  readonly advice: string;
}

/** Ports to diagnose when none is named, and how many of them at a time. */
const MAX_PORTS = 16;
const AT_A_TIME = 4;

/** Connect timeout, in milliseconds: generous, for a cluster under load. */
const DIAL_MS = 5_000;

/**
 * What listens in the sandbox of a run, how it answers, and what prevents a preview of it from
 * working. A sandbox that does not run is a finding, not an error.
 * @throws PortholeError `exec_transport_error`, and what else the provider throws
 */
export async function diagnoseSandbox(
  deps: DiagnoseSandboxDeps,
  { run, port }: { readonly run: RunRecord; readonly port?: number | undefined },
  signal?: AbortSignal,
): Promise<Diagnosis> {
  const { state, reason } = await deps.sandboxes.inspect(run.sandboxId, signal);
  if (state !== 'running') {
    const why = reason === undefined ? '' : ` (${reason})`;
    return { sandbox: state, listeners: undefined, ports: [], advice: `${NOT_RUNNING[state]}${why}.` };
  }
  const guest = guestsOf(deps.sandboxes).of(run.sandboxId);
  const listeners = readListeners((await guest.call('GET', '/v1/ports', portList, { signal })).value.ports);
  const wanted = port === undefined ? portsToLookInto(listeners, deps.previewSettings) : [port];
  const ports: PortDiagnosis[] = [];
  for (let at = 0; at < wanted.length; at += AT_A_TIME) {
    const some = wanted.slice(at, at + AT_A_TIME);
    ports.push(...(await Promise.all(some.map((each) => diagnosePort(deps, run, each, listeners, signal)))));
  }
  return { sandbox: state, listeners, ports, advice: overallAdvice(ports) };
}

const NOT_RUNNING = {
  absent: 'The sandbox of this run no longer exists: create a new run',
  creating: 'The sandbox is still being created: try again in a moment',
  stopped:
    'The sandbox is not running: run a command in it, which restarts it after a crash, then start the server',
} as const;

function portsToLookInto(
  listeners: readonly Listener[],
  { allowedPortMin: min, allowedPortMax: max }: PreviewOptions,
): number[] {
  const all = listeners.map(({ port }) => port);
  const isAllowed = (port: number) => port >= min && port <= max;
  return [...all.filter(isAllowed), ...all.filter((port) => !isAllowed(port))].slice(0, MAX_PORTS);
}

/** One sentence on all ports: the advice to follow first. */
export function overallAdvice(ports: readonly PortDiagnosis[]): string {
  const best = ports.find(({ ready }) => ready) ?? ports[0];
  if (best !== undefined) return best.advice;
  return 'Nothing listens in this sandbox: start the server (e.g. porthole serve 3000 -- npm run dev), then ask again.';
}

async function diagnosePort(
  deps: DiagnoseSandboxDeps,
  run: RunRecord,
  port: number,
  listeners: readonly Listener[],
  signal: AbortSignal | undefined,
): Promise<PortDiagnosis> {
  const { previewSettings, plane, probe } = deps;
  const listener = listeners.find((each) => each.port === port);
  const dial = () => dialOrNothing(deps, run.sandboxId, port, signal);
  const stream = await dial();
  let http: PortDiagnosis['http'] =
    stream === undefined ? { kind: 'refused' } : await probe.get(stream, port, signal);
  if (http.kind === 'hung_up') {
    const second = await dial();
    if (second !== undefined && (await probe.speaksTls(second, signal))) http = { kind: 'tls' };
  }
  const answer = http.kind === 'answered' ? http : { headers: new Map<string, string>(), body: '' };
  const framework = guessFramework({ ...answer, command: listener?.process?.command ?? '' });
  let websocket: UpgradeFinding | undefined;
  if (http.kind === 'answered') {
    const second = await dial();
    const target = framework?.hotReload ?? { path: '/' };
    websocket =
      second === undefined ? { upgrades: false } : await probe.upgrade(second, port, target, signal);
  }
  const advice = portAdvice({
    port,
    range: previewSettings,
    needsOpenAddress: plane.needsOpenAddress,
    listeners,
    http,
    framework,
    websocket,
  });
  return { port, listener, http, framework, websocket, ...advice };
}

/** A stream to the port, or undefined if the connection is refused. */
async function dialOrNothing(
  { sandboxes }: DiagnoseSandboxDeps,
  sandboxId: string,
  port: number,
  signal: AbortSignal | undefined,
) {
  const limit = AbortSignal.timeout(DIAL_MS);
  try {
    return await sandboxes.dial(sandboxId, port, anySignal(signal, limit));
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted || (error instanceof PortholeError && error.code === 'nothing_listens'))
      return undefined;
    throw error;
  }
}
