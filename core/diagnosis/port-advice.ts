import type { HttpFinding, UpgradeFinding } from '../previews/app-probe.ts';
import type { PortRange } from '../previews/preview-limits.ts';
import type { Framework } from './framework.ts';
import { isOpen, isReachedOnLoopback, type Listener } from './listeners.ts';

/** Facts about one port of a sandbox. */
export interface PortFacts {
  readonly port: number;
  readonly range: PortRange;
  /** Whether previews reach servers at the sandbox's address and not at its loopback address. */
  readonly needsOpenAddress: boolean;
  readonly listeners: readonly Listener[];
  /** `refused`: the connection was refused. */
  readonly http: HttpFinding | { readonly kind: 'refused' };
  readonly framework: Framework | undefined;
  readonly websocket: UpgradeFinding | undefined;
}

export interface PortAdvice {
  /** Whether a preview of the port shows the app. */
  readonly ready: boolean;
  /** One sentence: the state, and what to do next. */
  readonly advice: string;
}

/** Advice for a user who wants a preview of the port. The first obstacle decides. */
export function portAdvice(facts: PortFacts): PortAdvice {
  const obstacle = outOfRange(facts) ?? notListening(facts) ?? unreachable(facts) ?? noHttp(facts);
  if (obstacle !== undefined) return { ready: false, advice: obstacle };
  return { ready: true, advice: answering(facts) };
}

function outOfRange({
  port,
  range: { allowedPortMin: min, allowedPortMax: max },
}: PortFacts): string | undefined {
  if (port >= min && port <= max) return undefined;
  return `Port ${port} is outside of the ports that previews may expose (${min} to ${max}): start the server on one of those.`;
}

function notListening(facts: PortFacts): string | undefined {
  const { port, http, listeners } = facts;
  const listener = listeners.find((each) => each.port === port);
  if (listener !== undefined || http.kind !== 'refused') return undefined;
  const others = listeners.filter((each) => outOfRange({ ...facts, port: each.port }) === undefined);
  if (others.length > 0) {
    const named = others.slice(0, 5).map((each) => each.port);
    return `Nothing listens on port ${port}, but something does on ${named.join(', ')}: open a preview of that, or start the server on ${port}.`;
  }
  return `Nothing listens on port ${port}: start the server (${startExample(port)}), then ask again.`;
}

function startExample(port: number): string {
  return `e.g. porthole serve ${port} -- npm run dev -- --port ${port}`;
}

function unreachable({ port, needsOpenAddress, listeners, http, framework }: PortFacts): string | undefined {
  const addresses = listeners.find((each) => each.port === port)?.addresses;
  if (needsOpenAddress && addresses !== undefined && !addresses.some(isOpen)) {
    return `It listens on ${addresses.join(' and ')} only, where the preview gateway cannot reach it: start it on all addresses (${bindHint(framework, port)}).`;
  }
  if (!needsOpenAddress && addresses !== undefined && !addresses.some(isReachedOnLoopback)) {
    return `It listens on ${addresses.join(' and ')} only, which previews here do not reach: start it on 127.0.0.1 or on all addresses (${bindHint(framework, port)}).`;
  }
  if (http.kind === 'refused') return `Port ${port} is open but accepts no connections: restart the server.`;
  return undefined;
}

/** How to make this server, or a server in general, listen on all addresses. */
function bindHint(framework: Framework | undefined, port: number): string {
  if (framework?.bindAll === undefined) return '--host 0.0.0.0, or the like';
  return `${framework.name}: ${framework.bindAll.replace('{port}', String(port))}`;
}

function noHttp({ port, http }: PortFacts): string | undefined {
  const { kind } = http;
  if (kind === 'silent') {
    return `Port ${port} accepts connections but did not answer within 5 seconds: it may still be compiling. Try again, then read the server's log.`;
  }
  if (kind === 'hung_up') {
    return `Port ${port} closes connections without an answer: a preview needs a server that speaks plain HTTP.`;
  }
  if (kind === 'malformed') {
    return `Port ${port} does not answer in valid HTTP (${http.what}): a preview needs a server that speaks plain HTTP.`;
  }
  if (!wantsTls(http)) return undefined;
  return `Port ${port} speaks HTTPS: start it with plain HTTP, because previews bring their own HTTPS.`;
}

/** Answers of TLS servers to plain HTTP. */
const WANTS_TLS =
  /plain HTTP request was sent to (?:an )?HTTPS|HTTP request to an HTTPS server|speaking plain HTTP to an SSL/i;

function wantsTls(http: PortFacts['http']): boolean {
  return (
    http.kind === 'tls' || (http.kind === 'answered' && http.status === 400 && WANTS_TLS.test(http.body))
  );
}

/**
 * Whether a preview cannot show a server because it does not speak plain HTTP. A silent one may
 * still be compiling.
 */
export function isNotHttp(http: HttpFinding): boolean {
  return http.kind === 'hung_up' || http.kind === 'malformed' || wantsTls(http);
}

function answering({ port, http, framework, websocket }: PortFacts): string {
  const status = http.kind === 'answered' ? http.status : 0;
  const what = framework === undefined ? 'It' : framework.name;
  if (status >= 500) {
    return `${what} answers with status ${status}, and the preview will show that error: look at the server's log.`;
  }
  if (status === 401 || status === 403) {
    return `${what} answers with status ${status}: the preview works, but the app requires its own login or a setting.`;
  }
  if (status === 404)
    return `${what} answers with status 404 at /: the preview works; open the path that the app serves.`;
  if (framework?.hotReload !== undefined && websocket?.upgrades === false) {
    return `${what} answers, but its hot reload does not take a WebSocket${shown(websocket.status)}: the page shows, and changes need a reload.`;
  }
  return `${what} answers on port ${port}: a preview of it works.`;
}

function shown(status: number | undefined): string {
  return status === undefined ? '' : ` (status ${status})`;
}
