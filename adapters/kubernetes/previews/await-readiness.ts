import { setTimeout as pause } from 'node:timers/promises';
import { PortholeError } from '#base/errors.ts';
import type { Preview, Readiness } from '#core/previews/preview-plane.ts';
import { isNotHttp } from '#core/diagnosis/port-advice.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { askForPage } from '../../previews/http-app-probe.ts';
import { within } from '../client/exchange.ts';
import type { Answerer, GatewayProbe } from './gateway-probe.ts';
import type { StoredRoute } from './preview-store.ts';

export interface ReadinessDeps {
  /** Undefined where the gateway cannot be probed: the route's status decides then. */
  readonly probe: GatewayProbe | undefined;
  readonly sandboxes: Pick<Sandboxes, 'dial'>;
  /** The preview's current route; undefined when it is gone or has another uid. */
  readonly route: (preview: Preview, signal: AbortSignal) => Promise<StoredRoute | undefined>;
  readonly isAccepted: (route: StoredRoute) => boolean;
  readonly timeoutMs: number;
}

type AppState = 'listens' | 'not_http' | 'silent' | 'stopped' | 'unknown';

/** Pause between two probes: this share of the wait so far bounds what it adds to a start. */
const PAUSE_SHARE = 0.1;
const MIN_PAUSE_MS = 20;
/** Timeout of the single dial to the sandbox, in milliseconds. */
const DIAL_MS = 2_000;
/** Response timeout, in milliseconds. A slower server counts as HTTP: it may be compiling. */
const ANSWER_MS = 500;
/**
 * First check whether the preview of a waiting start still exists, in milliseconds; the time
 * doubles with each check.
 */
const POLL_MS = 250;

/**
 * Resolves once the preview's URL serves through every proxy of the gateway, or with the reason why
 * not. Waits for the route, not for the app: where nothing listens, it resolves as soon as the
 * route is there.
 */
export async function awaitReadiness(
  deps: ReadinessDeps,
  preview: Preview,
  signal?: AbortSignal,
): Promise<Readiness> {
  return within(deps.timeoutMs, signal, async (limit) => {
    const wait = new ReadinessWait(deps, preview, limit);
    try {
      return await wait.run();
    } catch (error) {
      signal?.throwIfAborted();
      if (!limit.aborted) throw error;
      return wait.result();
    }
  });
}

class ReadinessWait {
  readonly #deps: ReadinessDeps;
  readonly #preview: Preview;
  readonly #signal: AbortSignal;
  readonly #hostname: string;
  readonly #startedAt = performance.now();
  #appState: AppState = 'unknown';
  /** Whether the app answers with a 500 when asked without the gateway. */
  #isFailing = false;
  /** Whether all that remains is empty 500s, which may be the app's. */
  #onlyEmpty500s = false;
  readonly #sandboxProbe: Promise<void>;
  /** Whether the route was certainly in the gateway at the last probe. */
  #isRouted = false;
  /** Why the gateway could not be reached at the last probe. */
  #unreachableReason: 'gateway_untrusted' | 'gateway_unreachable' | undefined;
  /** Whether the preview has ended meanwhile. */
  #isGone = false;
  #look: Promise<void> | undefined;

  constructor(deps: ReadinessDeps, preview: Preview, signal: AbortSignal) {
    this.#deps = deps;
    this.#preview = preview;
    this.#signal = signal;
    this.#hostname = new URL(preview.url ?? 'http://preview.invalid').hostname;
    this.#sandboxProbe = this.#askSandbox();
  }

  async run(): Promise<Readiness> {
    const { probe } = this.#deps;
    const waiting = new Set(await probe?.proxies());
    let lookAt = POLL_MS;
    for (;;) {
      const readiness = probe === undefined ? await this.#askRoute() : await this.#askGateway(probe, waiting);
      if (readiness !== undefined) return readiness;
      if (this.#appState === 'stopped' || this.#isGone) return this.result();
      if (this.#elapsed() >= lookAt && this.#look === undefined) {
        lookAt = this.#elapsed() * 2;
        // Concurrent with the probes: a slow API server must not delay a route that the gateway
        // serves.
        this.#look = this.#lookForRoute().finally(() => (this.#look = undefined));
      }
      const delay = Math.max(MIN_PAUSE_MS, this.#elapsed() * PAUSE_SHARE);
      await pause(delay, undefined, { signal: this.#signal });
    }
  }

  async #lookForRoute(): Promise<void> {
    this.#isGone = (await this.#findRoute()) === 'gone';
  }

  /** Returns undefined on a failed read, which says nothing about the preview. */
  async #findRoute(): Promise<StoredRoute | 'gone' | undefined> {
    try {
      return (await this.#deps.route(this.#preview, this.#signal)) ?? 'gone';
    } catch {
      return undefined;
    }
  }

  /** Why it is not ready, as far as is known now. */
  result(): Readiness {
    if (this.#appState === 'stopped') return { ready: false, reason: 'sandbox_stopped' };
    if (this.#onlyEmpty500s && this.#appState === 'listens') return { ready: true };
    if (this.#isRouted) {
      return { ready: false, reason: this.#appState === 'not_http' ? 'not_http' : 'nothing_listens' };
    }
    if (this.#unreachableReason === undefined) return { ready: false, reason: 'starting' };
    return {
      ready: false,
      reason: this.#unreachableReason,
      problem: this.#deps.probe?.problems().join(' ') ?? '',
    };
  }

  #elapsed(): number {
    return performance.now() - this.#startedAt;
  }

  /** Probes the proxies that have not served yet. */
  async #askGateway(probe: GatewayProbe, waiting: Set<string>): Promise<Readiness | undefined> {
    // A name that does not resolve yet may do so later.
    if (waiting.size === 0) for (const proxy of await probe.proxies()) waiting.add(proxy);
    const answers = await Promise.all(
      [...waiting].map(async (proxy): Promise<Answerer> => {
        const answer = await probe.ask(proxy, this.#hostname, this.#signal);
        if (answer === 'rejected' || answer === 'failed' || answer === 'guarded') await this.#sandboxProbe;
        if (this.#isOfApp(answer)) waiting.delete(proxy);
        return answer;
      }),
    );
    const left = answers.filter((answer) => !this.#isOfApp(answer));
    this.#onlyEmpty500s = left.length > 0 && left.every((answer) => answer === 'failed');
    this.#unreachableReason = unreachableReason(answers);
    // A retry would fail in the same way.
    if (this.#unreachableReason === 'gateway_untrusted') return this.result();
    if (answers.length === 0) return undefined;
    if (waiting.size === 0) return { ready: true };
    this.#isRouted = answers.every((answer) => FROM_ROUTE.has(answer));
    const mayBeRouted = answers.every((answer) => answer !== 'nothing' && answer !== 'unreachable');
    if (!mayBeRouted) return undefined;
    await this.#sandboxProbe;
    if (this.#appState !== 'silent' && this.#appState !== 'not_http') return undefined;
    this.#isRouted ||= await this.#isAccepted();
    return this.#isRouted ? this.result() : undefined;
  }

  #isOfApp(answer: Answerer): boolean {
    if (answer === 'rejected') return this.#appState !== 'not_http';
    // The guest keeps the probe from the app: the sandbox itself was asked.
    if (answer === 'guarded') return this.#appState === 'listens' || this.#appState === 'unknown';
    return answer === 'app' || (answer === 'failed' && this.#isFailing);
  }

  /** Without a probe: decides by the route's status and by whether the app listens. */
  async #askRoute(): Promise<Readiness | undefined> {
    this.#isRouted = await this.#isAccepted();
    if (!this.#isRouted) return undefined;
    await this.#sandboxProbe;
    return this.#appState === 'listens' || this.#appState === 'unknown' ? { ready: true } : this.result();
  }

  async #isAccepted(): Promise<boolean> {
    const route = await this.#findRoute();
    this.#isGone ||= route === 'gone';
    return typeof route === 'object' && this.#deps.isAccepted(route);
  }

  async #askSandbox(): Promise<void> {
    const { sandboxId, targetPort } = this.#preview;
    try {
      await within(DIAL_MS, this.#signal, async (limit) => {
        const stream = await this.#deps.sandboxes.dial(sandboxId, targetPort, limit);
        const found = await askForPage(stream, targetPort, ANSWER_MS, limit);
        this.#appState = isNotHttp(found) ? 'not_http' : 'listens';
        this.#isFailing = found.kind === 'answered' && found.status === 500;
      });
    } catch (error) {
      const code = error instanceof PortholeError ? error.code : undefined;
      if (code === 'nothing_listens') this.#appState = 'silent';
      if (code === 'sandbox_not_running' || code === 'sandbox_not_found') this.#appState = 'stopped';
    }
  }
}

const FROM_ROUTE: ReadonlySet<Answerer> = new Set(['app', 'rejected', 'failed', 'guarded', 'route']);

function unreachableReason(
  answers: readonly Answerer[],
): 'gateway_untrusted' | 'gateway_unreachable' | undefined {
  if (answers.includes('untrusted')) return 'gateway_untrusted';
  return answers.every((answer) => answer === 'unreachable') ? 'gateway_unreachable' : undefined;
}

/** Whether the gateway reports `Accepted` and `ResolvedRefs` for the route's current generation. */
export function isRouteAccepted(
  route: StoredRoute,
  gateway: { readonly kind?: string | undefined; readonly name: string; readonly namespace: string },
): boolean {
  const { metadata, status } = route;
  const parent = status?.parents?.find(
    ({ parentRef }) =>
      parentRef?.name === gateway.name &&
      (parentRef.kind ?? 'Gateway') === (gateway.kind ?? 'Gateway') &&
      (parentRef.namespace ?? metadata.namespace) === gateway.namespace,
  );
  const isTrue = (type: string) =>
    parent?.conditions?.some(
      (condition) =>
        condition.type === type &&
        condition.status === 'True' &&
        (condition.observedGeneration ?? metadata.generation ?? 0) >= (metadata.generation ?? 0),
    ) ?? false;
  return isTrue('Accepted') && isTrue('ResolvedRefs');
}
