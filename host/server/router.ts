import findMyWay from 'find-my-way';
import { PortholeError } from '#base/errors.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { e2bErrorShape } from '#handlers/e2b/e2b-errors.ts';
import { renderError } from '#handlers/http/render-errors.ts';
import { json, type Method, type Route } from '#handlers/route.ts';
import type { Logger } from '#handlers/services.ts';

export type Answer = (event: HttpEvent) => HttpResponse | Promise<HttpResponse>;

/** What answers a request: a route's function, or the error of a request without a route. */
export interface Target {
  /** Its name in logs and metrics. */
  readonly operation: string;
  /** The template of its path; undefined without a route. */
  readonly route?: string;
  readonly answer: Answer;
  readonly params?: HttpEvent['pathParameters'];
}

/** The part of a route that a runtime needs before it loads the route. */
export interface RouteRow extends Pick<Route, 'id' | 'method' | 'path'> {
  readonly socket?: boolean | undefined;
  readonly bridge?: boolean | undefined;
  readonly channel?: boolean | undefined;
  /** Whether its handler needs the database and the cluster. */
  readonly opens: boolean;
  /** Whether it has a `verbose` answer, which needs them. */
  readonly verbose?: boolean | undefined;
  /** Whether its response may be endless: then it cannot be buffered. */
  readonly isEndless: boolean;
}

/** A route with a module that its first request loads. */
export interface LazyRoute extends RouteRow {
  readonly load: () => Promise<Route>;
  /** The feature that it belongs to, in `handlers/features.ts`. */
  readonly feature?: string;
}

export function servedRoutes(routes: readonly LazyRoute[], off: ReadonlySet<string>): readonly LazyRoute[] {
  return routes.filter(({ feature }) => feature === undefined || !off.has(feature));
}

export function lazyRoute(route: Route): LazyRoute {
  return { ...routeRow(route), load: () => Promise.resolve(route) };
}

export function routeRow(route: Route): RouteRow {
  const { id, method, path, socket, bridge, channel, access, signsIn, verbose, responses } = route;
  const isEventStream = Object.values(responses).some((each) => each.contentType === 'text/event-stream');
  return {
    id,
    method,
    path,
    socket,
    bridge,
    channel,
    opens: access !== 'anyone' || signsIn === true,
    verbose: verbose !== undefined,
    // The events of a POST end with its work.
    isEndless: socket === true || (method === 'GET' && isEventStream),
  };
}

export interface RouterOptions {
  readonly routes: readonly LazyRoute[];
  readonly answerOf: (route: LazyRoute) => Answer;
  /** A page for a browser at an unknown address; undefined for other clients. */
  readonly missingPage: (event: HttpEvent) => Promise<HttpResponse | undefined>;
  readonly log: Logger;
  readonly redact?: ((text: string) => string) | undefined;
}

export interface Router {
  /**
   * @param path still percent-encoded, without a query
   * @param isHandshake whether a WebSocket is requested
   */
  find(method: string, path: string, isHandshake: boolean): Target;
  /** Whether a route has this method and path. */
  has(method: string, path: string): boolean;
}

/** Operation name of requests without a route. */
const UNMATCHED = 'unmatched';

/** Routes requests on every runtime; requests without a route get the same errors everywhere. */
export function createRouter({ routes, answerOf, missingPage, log, redact }: RouterOptions): Router {
  const methods = [...new Set(routes.map(({ method }) => method))];
  const trees = new Map<Method, ReturnType<typeof findMyWay>>();
  /** The routes of a method, compiled at its first request. */
  const treeOf = (method: Method) => {
    const known = trees.get(method);
    if (known !== undefined) return known;
    const tree = findMyWay({
      // Long percent-encoded ids and tokens get their own error rather than "no such route".
      maxParamLength: 8_192,
      onMaxParamLength: NEVER_CALLED,
      // Functions parse the query themselves, by their schemas.
      querystringParser: () => NO_QUERY,
    });
    for (const route of routes.filter((each) => each.method === method)) {
      const entry: Entry = {
        operation: route.id,
        route: route.path,
        answer: answerOf(route),
        isSocket: route.socket === true,
        isBridge: route.bridge === true,
        rest: route.path.endsWith('/{path}') ? route.path.split('/').length - 1 : undefined,
      };
      const path = route.path.replace(/\{path\}$/, '*').replace(/\{(\w+)\}/g, ':$1');
      tree.on(method, path, NEVER_CALLED, entry);
    }
    trees.set(method, tree);
    return tree;
  };
  const lookUp = (asked: string, path: string) => {
    // RFC 9110 section 9.3.2: HEAD is GET without the body.
    const method = asked === 'HEAD' ? 'GET' : (asked as Method);
    return methods.includes(method) ? treeOf(method).find(method, path) : null;
  };
  const routesAt = (path: string) =>
    methods.flatMap((method) => {
      const entry = lookUp(method, path)?.store as Entry | null | undefined;
      return entry == null ? [] : [{ method, isBridge: entry.isBridge }];
    });

  const hasE2b = routes.some(({ path }) => path.startsWith(E2B));
  const missing = (code: 'not_found' | 'method_not_allowed', event: HttpEvent): HttpResponse => {
    const { rawPath, requestContext } = event;
    const error = noRoute(code, requestContext.http.method, rawPath);
    const rendered = renderError(error, requestContext.requestId, log, UNMATCHED, redact);
    const { status, body } =
      hasE2b && rawPath.startsWith(E2B) ? e2bErrorShape(rendered.body, rendered.status) : rendered;
    return json(status, body, rendered.headers);
  };

  const unmatched: Answer = async (event) => {
    const { method } = event.requestContext.http;
    const path = event.rawPath;
    // `OPTIONS *` asks about the server, not a route (RFC 9110 section 9.3.7).
    const others = path === '*' ? [] : routesAt(path);
    const isOurs = others.length > 0 && others.every(({ isBridge }) => !isBridge);
    // A method that no route has is unknown, and not a missing route of the bridge.
    const isKnown = method === 'HEAD' || methods.includes(method as Method);
    const isBridge = BRIDGE.test(path) || (others.length > 0 && path.startsWith(BRIDGE_1_0));
    if (isBridge && !isOurs && (isKnown || others.length === 0)) return BRIDGE_NOT_FOUND();
    if (others.length > 0) {
      const allowed = others.map((each) => each.method);
      // RFC 9110 section 15.5.6: a 405 lists the allowed methods.
      const response = missing('method_not_allowed', event);
      return { ...response, headers: { ...response.headers, allow: allowed.join(', ') } };
    }
    return (await missingPage(event)) ?? missing('not_found', event);
  };
  const without = {
    route: { operation: UNMATCHED, answer: unmatched },
    socket: { operation: UNMATCHED, answer: noSocket },
    end: { operation: UNMATCHED, answer: tooLong },
    encoding: { operation: UNMATCHED, answer: unreadable },
  };

  return {
    has: (method, path) => lookUp(method, path) !== null,
    find(method, path, isHandshake) {
      if (!isPercentEncoded(path)) return without.encoding;
      const found = lookUp(method, path);
      if (found === null) return without.route;
      const entry = found.store as Entry | null;
      if (entry === null) return without.end;
      const { operation, route, answer, isSocket, rest } = entry;
      if (isHandshake && !isSocket) return without.socket;
      const params = rest === undefined ? found.params : withEncodedRest(found.params, path, rest);
      return { operation, route, answer, params };
    },
  };
}

/** One route, as the router keeps it. */
interface Entry {
  readonly operation: string;
  readonly route: string;
  readonly answer: Answer;
  readonly isSocket: boolean;
  readonly isBridge: boolean;
  /** Number of segments before the rest of the path, for a route that takes it. */
  readonly rest: number | undefined;
}

/** Its clients read errors in their own shape, also of what is not there. */
const E2B = '/e2b/';

/** Only `find` is used. */
const NEVER_CALLED = () => undefined;
const NO_QUERY = {};

/**
 * Paths that keep the bridge's behavior, unless only routes of ours have them: a missing route for
 * a method is a missing route, with exactly this message.
 */
const BRIDGE = /^\/v1\/(?:sandbox|pool|openapi)/;
/** The same for the bridge 1.0, at the paths that it has. */
const BRIDGE_1_0 = '/bridge/1.0/';
const BRIDGE_NOT_FOUND = (): HttpResponse => ({
  statusCode: 404,
  headers: { 'content-type': 'text/plain; charset=UTF-8' },
  body: '404 Not Found',
});

const tooLong: Answer = () => {
  throw new PortholeError('uri_too_long', 'The URL is too long.');
};

const unreadable: Answer = () => {
  throw new PortholeError(
    'invalid_request',
    'The request cannot be read: its URL is not valid percent-encoded UTF-8.',
  );
};

const noSocket: Answer = () => {
  throw new PortholeError('not_found', 'There is no WebSocket here', {
    remedy: 'GET /v1/openapi lists the routes.',
  });
};

function noRoute(code: 'not_found' | 'method_not_allowed', method: string, path: string): PortholeError {
  return new PortholeError(code, `There is no route ${method} ${shownPath(path)}`, {
    remedy: 'GET /v1/openapi lists them.',
  });
}

/** An unknown path in an error: truncated, and without possible tokens. */
function shownPath(path: string): string {
  return JSON.stringify(path.replace(/[a-z0-9-]{30,}/g, '…').slice(0, 100));
}

function isPercentEncoded(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURI(path);
    return true;
  } catch {
    return false;
  }
}

/** The rest of the path is passed on still encoded: the function decodes it exactly once. */
function withEncodedRest(
  { '*': _decoded, ...named }: Readonly<Record<string, string | undefined>>,
  path: string,
  segments: number,
): HttpEvent['pathParameters'] {
  return { ...named, path: path.split('/').slice(segments).join('/') };
}
