import findMyWay from 'find-my-way';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { dropRest } from '#proxy/status-answer.ts';
import { PortholeError } from '#core/errors.ts';
import { missingPage } from '#handlers/console/console-page.ts';
import type { HttpResponse } from '#handlers/http/http-event.ts';
import { makeFunction, type FunctionOptions } from '#handlers/make-function.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { Method, Route } from '#handlers/route.ts';
import { withSafeHeaders } from '#handlers/http/response-headers.ts';
import type { Services } from '#handlers/services.ts';
import { HandshakeResponse } from './handshake.ts';
import type { Metrics } from './metrics.ts';
import { RequestEvent } from './request-event.ts';

export interface FunctionHostOptions extends FunctionOptions {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly metrics: Pick<Metrics, 'requested'>;
}

type Answer = (event: RequestEvent) => HttpResponse | Promise<HttpResponse>;

/** Operation name of requests without a route. */
const UNMATCHED = 'unmatched';

/**
 * Runs the functions over HTTP: routes requests, leaves bodies unread, streams responses, and gives
 * all errors one shape. Serves what the strict front lets through.
 */
export function createFunctionHost({
  routes,
  services,
  metrics,
  ...options
}: FunctionHostOptions): RequestListener {
  const { log, ids } = services;
  const failed = (error: unknown, requestId: string, operation = UNMATCHED) =>
    errorResponse(error, requestId, log, operation, options.redact);

  const serve = async (
    req: IncomingMessage,
    res: ServerResponse,
    operation: string,
    answer: Answer,
    params?: RequestEvent['pathParameters'],
  ): Promise<void> => {
    const began = performance.now();
    const requestId = ids.request();
    const event = new RequestEvent(req, res, requestId, params);
    let response: HttpResponse;
    try {
      response = await answer(event);
    } catch (error) {
      response = failed(error, requestId, operation);
    }
    try {
      const sending = send(res, response, requestId, operation);
      if (sending !== undefined) await sending;
    } catch (err) {
      if (res instanceof HandshakeResponse) res.peer.destroy();
      // A client that disconnects is normal. A failure of ours after the head was sent is logged
      // nowhere else.
      const level = err instanceof PortholeError ? 'warn' : 'debug';
      log[level]({ err, request_id: requestId, operation }, 'answer cut off');
    }
    const seconds = (performance.now() - began) / 1e3;
    metrics.requested(operation, response.statusCode, seconds);
    const ms = Math.round(seconds * 1e4) / 10;
    const fields = { operation, status: response.statusCode, ms, request_id: requestId };
    // Probes and polling would hide the other lines.
    if (req.method === 'GET' && response.statusCode < 400) log.debug(fields, 'request');
    else log.info(fields, 'request');
  };

  const send = (res: ServerResponse, response: HttpResponse, requestId: string, operation: string) => {
    if (res instanceof HandshakeResponse) {
      if (response.upgrade !== undefined) return takeOver(res, response.upgrade, requestId, operation);
    } else {
      // An answer sent before the end of the body must not leave the connection out of step.
      dropRest(res.req);
    }
    return sendResponse(res, response, requestId);
  };

  const takeOver = async (
    res: HandshakeResponse,
    upgrade: NonNullable<HttpResponse['upgrade']>,
    requestId: string,
    operation: string,
  ) => {
    const { acceptWebSocket } = await import('./web-socket-answer.ts');
    const socket = acceptWebSocket(res, requestId, {
      stopping: services.stopping,
      ended: (code, ms) =>
        log.debug({ operation, code, ms: Math.round(ms), request_id: requestId }, 'socket closed'),
    });
    if (socket !== undefined) upgrade(socket);
  };

  const unmatched: Answer = async (event) => {
    const { method } = event.requestContext.http;
    const path = event.rawPath;
    if (BRIDGE.test(path)) return BRIDGE_NOT_FOUND();
    // `OPTIONS *` asks about the server, not a route (RFC 9110 section 9.3.7).
    const allowed = path === '*' ? [] : methods.filter((each) => router.find(each, path) !== null);
    if (allowed.length > 0) {
      // RFC 9110 section 15.5.6: a 405 lists the allowed methods.
      const error = noRoute('method_not_allowed', method, path);
      const response = failed(error, event.requestContext.requestId);
      return { ...response, headers: { ...response.headers, allow: allowed.join(', ') } };
    }
    const page = await missingPage(event, services);
    if (page === undefined) throw noRoute('not_found', method, path);
    return page;
  };

  const router = findMyWay({
    // Long percent-encoded ids and tokens get their own error rather than "no such route".
    maxParamLength: 8_192,
    // Functions parse the query themselves, by their schemas.
    querystringParser: () => NO_QUERY,
    defaultRoute: (req, res) => void serve(req, res, UNMATCHED, unmatched),
    onMaxParamLength: (_path, req, res) => void serve(req, res, UNMATCHED, tooLong),
  });
  const methods: Method[] = [...new Set(routes.map(({ method }) => method))];
  for (const route of routes) {
    const invoke = makeFunction(route, services, options);
    const answer: Answer = (event) => invoke(event, NO_CONTEXT);
    const rest = route.path.endsWith('/{path}') ? route.path.split('/').length - 1 : undefined;
    router.on(
      route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      route.path.replace(/\{path\}$/, '*').replace(/\{(\w+)\}/g, ':$1'),
      (req, res, params) => {
        if (res instanceof HandshakeResponse && route.socket !== true) {
          return serve(req, res, UNMATCHED, noSocket);
        }
        return serve(
          req,
          res,
          route.id,
          answer,
          rest === undefined ? params : withEncodedRest(params, req, rest),
        );
      },
    );
  }
  return (req, res) => {
    if (isPercentEncoded(pathOf(req))) router.lookup(req, res);
    else void serve(req, res, UNMATCHED, unreadable);
  };
}

/**
 * Paths that keep the bridge's behavior: a missing route for a method is a missing route, with
 * exactly this message.
 */
const BRIDGE = /^\/v1\/(?:sandbox|pool|openapi)/;
const BRIDGE_NOT_FOUND = (): HttpResponse => ({
  statusCode: 404,
  headers: { 'content-type': 'text/plain; charset=UTF-8' },
  body: '404 Not Found',
});

const NO_CONTEXT = {};
const NO_QUERY = {};

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
  throw new PortholeError('not_found', 'There is no WebSocket here: GET /v1/openapi lists the routes.');
};

function noRoute(code: 'not_found' | 'method_not_allowed', method: string, path: string): PortholeError {
  return new PortholeError(
    code,
    `There is no route ${method} ${shownPath(path)}: GET /v1/openapi lists them.`,
  );
}

/** An unknown path in an error: truncated, and without possible tokens. */
function shownPath(path: string): string {
  return JSON.stringify(path.replace(/[a-z0-9-]{30,}/g, '…').slice(0, 100));
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
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
  req: IncomingMessage,
  segments: number,
): RequestEvent['pathParameters'] {
  return { ...named, path: pathOf(req).split('/').slice(segments).join('/') };
}

/** Returns a promise for a stream only. */
function sendResponse(
  res: ServerResponse,
  { statusCode, headers, body }: HttpResponse,
  requestId: string,
): Promise<void> | undefined {
  const all: Record<string, string | number> = { ...withSafeHeaders(headers), 'x-request-id': requestId };
  if (body instanceof Readable) {
    res.writeHead(statusCode, all);
    if (res.req.method === 'HEAD') {
      body.destroy();
      res.end();
      return undefined;
    }
    // Sends the head before the first bytes of the stream exist.
    res.flushHeaders();
    return pipeline(body, res);
  }
  if (statusCode !== 204) all['content-length'] = body === undefined ? 0 : Buffer.byteLength(body);
  res.writeHead(statusCode, all);
  res.end(body);
  return undefined;
}
