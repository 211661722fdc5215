import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { endWith } from './front/raw-answer.ts';
import type { AccessGate, Visit } from './access/access-gate.ts';
import { answerPreflight, enter, sendAway } from './access/entrance.ts';
import { isForeign } from './access/foreign-request.ts';
import { answerWithScript } from './localhost/localhost-script.ts';
import { HttpExchange } from './exchange/http-exchange.ts';
import { PreviewBackend } from './exchange/preview-backend.ts';
import { type OwnPath, ownPath, type SiblingPath } from './own-path.ts';
import { decideOrigin, type PreviewView } from './preview-headers.ts';
import type { AdmittedRequest, PreviewProxyDeps } from './preview-proxy-deps.ts';
import type { PreviewLookup, PreviewTarget } from './preview-target.ts';
import { answerWithPage, rawPageAnswer } from './status-answer.ts';
import type { PreviewStatus, StatusPageContext } from './status-page.ts';
import { UpstreamPool } from './upstream/upstream-pool.ts';
import { WebSocketExchange, isWebSocketKey } from './exchange/websocket-exchange.ts';

/** How long running requests may take when the proxy closes, in milliseconds. */
const DRAIN_MS = 5_000;
/** How late a request may end after its visit, in milliseconds. */
const VISITS_EVERY_MS = 1_000;

export interface PreviewProxy {
  /**
   * Serves a request for the preview `token`. The head must have passed the strict front.
   * `expectsContinue`: the client holds its body back until a 100 Continue.
   */
  handleRequest(req: IncomingMessage, res: ServerResponse, token: string, expectsContinue?: boolean): void;
  /**
   * Serves a WebSocket handshake for the preview `token`; `head` is what the client sent after it.
   */
  handleUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer, token: string): void;
  /** Ends open requests and WebSockets of visitors who may no longer pass. */
  limit(target: Pick<PreviewTarget, 'token' | 'access'>): void;
  /** Destroys every connection of a preview that has ended, idle or open, WebSockets included. */
  revoke(target: Pick<PreviewTarget, 'token'>): void;
  /**
   * Waits up to `drainMs` (5 s by default) for requests, then destroys everything. WebSockets end
   * at once.
   */
  close(drainMs?: number): Promise<void>;
}

/** The decision about a request: the page it gets, or the backend that serves it. */
type Decision =
  | { readonly page: PreviewStatus; readonly context?: StatusPageContext; readonly view?: PreviewView }
  | { readonly location: string }
  | { readonly backend: PreviewBackend; readonly admitted: AdmittedRequest };

/** The data path of the preview gateway: streams, validates both sides strictly, stores nothing. */
export function createPreviewProxy(deps: PreviewProxyDeps): PreviewProxy {
  const backends = new Map<string, PreviewBackend>();
  const touched = (target: PreviewTarget): void => deps.touched(target);
  let onRemoved: (() => void) | undefined;
  let closing = false;

  const backendOf = (target: PreviewTarget): PreviewBackend => {
    const known = backends.get(target.token);
    if (known !== undefined) {
      const { sandboxId, targetPort } = known.target;
      if (sandboxId === target.sandboxId && targetPort === target.targetPort) return known;
      known.destroy();
    }
    const pool = new UpstreamPool(target, (to, signal) => deps.dial(to, signal));
    const backend = new PreviewBackend(target, pool, touched, () => onRemoved?.());
    backends.set(target.token, backend);
    return backend;
  };

  /** Ends requests and WebSockets that last longer than their visit may, while there are visits. */
  let watching: NodeJS.Timeout | undefined;
  const watchVisits = (): void => {
    watching ??= setInterval(() => {
      const visited = [...backends.values()]
        .flatMap((backend) => backend.exchanges)
        .filter(({ visit }) => visit !== undefined);
      for (const exchange of visited) {
        if (exchange.visit !== undefined && deps.gate?.isOver(exchange.visit)) exchange.abort();
      }
      if (visited.length === 0) stopWatching();
    }, VISITS_EVERY_MS).unref();
  };
  const stopWatching = (): void => {
    clearInterval(watching);
    watching = undefined;
  };

  /** The app of a sibling that the visitor of one preview may also open, as a part of its host. */
  const findBelow = (
    { prefix, url, targetPort }: SiblingPath,
    own: { readonly target: PreviewTarget; readonly view: PreviewView },
    visit: Visit | undefined,
  ): { readonly target: PreviewTarget; readonly view: PreviewView } | undefined => {
    const pagePort = own.target.targetPort;
    const view = { ...own.view, targetPort, below: { prefix, url, pagePort } };
    if (targetPort === pagePort) return { target: own.target, view };
    const target = own.view.siblings.targetOf(targetPort);
    if (target === undefined || deps.gate?.reaches(visit, target.access) === false) return undefined;
    return { target, view };
  };

  const decide = (
    found: PreviewLookup,
    req: IncomingMessage,
    isUpgrade: boolean,
    path: OwnPath | undefined,
  ): Decision => {
    if (found.kind === 'unknown') {
      const location = found.token === undefined ? undefined : deps.gate?.hide(req, found.token);
      return location === undefined ? { page: 'unknown' } : { location };
    }
    if (found.kind === 'ended') return { page: found.reason };
    if (found.kind === 'limited') return { page: 'too_many_requests', context: found };
    const { target: entered } = found;
    if (closing) return { page: 'starting', context: entered };
    const { scheme, host, audience } = deps.visitor(req, entered);
    const { targetPort } = entered;
    const own = { target: entered, view: { scheme, host, targetPort, siblings: deps.siblings(entered) } };
    const access = deps.gate?.decide(req, entered, audience);
    if (access?.kind === 'opens') return access;
    if (access?.kind === 'refused') return { page: 'access_required', view: own.view };
    if (found.kind === 'asleep') {
      const location = deps.gate?.wake(req, entered.token);
      return location === undefined ? { page: 'expired', context: entered } : { location };
    }
    if (access?.byCookie === true && isForeign(req, own.view)) return { page: 'foreign_origin' };
    const sibling = path?.kind === 'sibling' ? path : undefined;
    const served = sibling === undefined ? own : findBelow(sibling, own, access?.visit);
    if (served === undefined) return { page: 'not_open', context: { targetPort: sibling?.targetPort } };
    const { target, view } = served;
    const { below }: PreviewView = view;
    const asked = below === undefined ? req : { url: below.url, headers: req.headers };
    const origin = decideOrigin(asked, own.view, isUpgrade);
    if (origin === 'refuse') return { page: 'foreign_origin', context: target };
    const backend = backendOf(target);
    // A page that calls only its siblings is in use.
    if (target.token !== entered.token) backendOf(entered).touch();
    if (backend.full) return { page: 'busy', context: target };
    if (access?.visit !== undefined) watchVisits();
    return {
      backend,
      admitted: {
        view,
        origin,
        client: deps.clientAddress(req),
        visit: access?.visit,
        enteredBy: entered.token,
        trace: deps.traceRequest?.(req, target),
        setCookie: access?.setCookie,
      },
    };
  };

  /** Calls back synchronously for a live preview, and later if the store needs a look-up. */
  const lookUp = (
    token: string,
    req: IncomingMessage,
    found: (lookup: PreviewLookup) => void,
    failed: () => void,
  ): void => {
    const fail = (cause: unknown): void => {
      deps.log.warn({ preview: deps.fingerprint(token), err: cause }, 'a preview could not be looked up');
      failed();
    };
    let lookup: PreviewLookup | Promise<PreviewLookup>;
    try {
      lookup = deps.lookup(token, deps.clientAddress(req));
    } catch (error) {
      return fail(error);
    }
    if (lookup instanceof Promise) lookup.then(found, fail);
    else found(lookup);
  };

  return {
    handleRequest(req, res, token, expectsContinue = false) {
      const answer = (page: PreviewStatus, context?: StatusPageContext): void => {
        answerWithPage(req, res, page, context, expectsContinue);
        deps.metrics.answered(res.statusCode, page);
      };
      const path = ownPath(req.url);
      // Before any look-up: it says nothing about the preview.
      if (path?.kind === 'report')
        return answer('report', { host: req.headers.host, contact: deps.reportContact(token) });
      const letIn = async (gate: AccessGate, target: PreviewTarget): Promise<void> => {
        if (expectsContinue) res.writeContinue();
        const { audience } = deps.visitor(req, target);
        const origins = [...deps.frameAncestors(target), gate.pageOrigin(target)];
        const isEntered = await enter(gate, { req, res, target, audience, origins });
        if (isEntered) deps.metrics.answered(res.statusCode, 'access_required');
        else if (!res.destroyed) answer('bad_ticket');
      };
      const serve = (found: PreviewLookup): void => {
        if (res.destroyed) return;
        if (deps.gate !== undefined && found.kind === 'live' && path?.kind === 'enter') {
          letIn(deps.gate, found.target).catch((error: unknown) => {
            deps.log.warn({ preview: deps.fingerprint(token), err: error }, 'a visit could not begin');
            res.destroy();
          });
          return;
        }
        if (found.kind === 'live' && path?.kind === 'localhost') return answerWithScript(req, res);
        const decision = decide(found, req, false, path);
        if ('location' in decision) {
          sendAway(req, res, decision.location);
          return deps.metrics.answered(res.statusCode, 'access_required');
        }
        if ('page' in decision) {
          if (decision.view !== undefined && answerPreflight(req, res, decision.view)) return;
          return answer(decision.page, decision.context);
        }
        const { backend, admitted } = decision;
        new HttpExchange(deps, backend, { req, res, expectsContinue, admitted }).start();
      };
      lookUp(token, req, serve, () => answer('unreachable'));
    },

    handleUpgrade(req, socket, head, token) {
      const answer = (page: PreviewStatus, context?: StatusPageContext): void => {
        const { statusCode, bytes } = rawPageAnswer(req, page, context);
        endWith(socket, bytes);
        deps.metrics.answered(statusCode, page);
      };
      const serve = (found: PreviewLookup): void => {
        if (socket.destroyed) return;
        const decision = decide(found, req, true, ownPath(req.url));
        const key = req.headers['sec-websocket-key'];
        if ('location' in decision) return answer('access_required');
        if ('page' in decision) return answer(decision.page, decision.context);
        if (!isWebSocketKey(key)) return answer('bad_handshake');
        const { backend, admitted } = decision;
        new WebSocketExchange(deps, backend, { req, socket, early: head, key, admitted }).start();
      };
      lookUp(token, req, serve, () => answer('unreachable'));
    },

    limit({ token, access }) {
      const { gate } = deps;
      if (gate === undefined) return;
      for (const { target, exchanges } of backends.values()) {
        for (const exchange of exchanges) {
          const isVisitor = exchange.enteredBy === token;
          if (isVisitor && !gate.isAllowed(exchange.visit, access)) exchange.abort();
          if (!isVisitor && target.token === token && !gate.reaches(exchange.visit, access)) exchange.abort();
        }
      }
    },

    revoke({ token }) {
      backends.get(token)?.destroy();
      backends.delete(token);
      const others = [...backends.values()].flatMap(({ exchanges }) => exchanges);
      for (const exchange of others) if (exchange.enteredBy === token) exchange.abort();
    },

    async close(drainMs = DRAIN_MS) {
      closing = true;
      stopWatching();
      const all = [...backends.values()];
      for (const backend of all) backend.destroyUpgrades();
      const busy = (): boolean => all.some((backend) => backend.open > 0);
      if (busy() && drainMs > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, drainMs);
        onRemoved = () => {
          if (!busy()) resolve();
        };
        await promise;
        clearTimeout(timer);
        onRemoved = undefined;
      }
      for (const backend of backends.values()) backend.destroy();
      backends.clear();
    },
  };
}
