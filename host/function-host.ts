import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { dropRest } from '#proxy/status-answer.ts';
import { PortholeError } from '#core/errors.ts';
import { missingPage } from '#handlers/console/console-page.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { makeFunction, type FunctionOptions, type PortholeFunction } from '#handlers/make-function.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { Route } from '#handlers/route.ts';
import { withSafeHeaders } from '#handlers/http/response-headers.ts';
import type { Services } from '#handlers/services.ts';
import { checkHandshake, type Handshake, handshakeOf } from './handshake.ts';
import type { Metrics } from './metrics.ts';

export interface FunctionHostOptions extends FunctionOptions {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly metrics: Pick<Metrics, 'requested'>;
  /**
   * The server that the functions share with the preview gateway: takes our listener, and returns
   * the server.
   */
  readonly serve: (listener: RequestListener) => Server;
}

/** Operation name of requests without a route. */
const UNMATCHED = 'unmatched';

/**
 * Runs the functions over HTTP: fastify routes, bodies are left unread, responses are streamed, and
 * all errors have one shape.
 */
export function createFunctionHost({
  routes,
  services,
  metrics,
  serve,
  ...options
}: FunctionHostOptions): FastifyInstance {
  const app = fastify({
    serverFactory: serve,
    // Long percent-encoded ids and tokens get their own error rather than "no such route".
    routerOptions: { maxParamLength: 8_192 },
    frameworkErrors: (error, request, reply) => void answerFailure(error, request, reply),
    // The server is ours; fastify must not close its connections.
    forceCloseConnections: false,
    requestTimeout: 0,
    // The strict front answers malformed requests; a second answer would be taken for that of an
    // earlier request.
    clientErrorHandler: () => undefined,
  });
  // Functions read bodies themselves, only after authentication.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  app.addHook('onRequest', (request, _reply, done) => {
    // fastify answers 415 to a malformed Content-Type before any parser sees it; the functions
    // validate it instead.
    contentTypes.set(request.raw, request.headers['content-type']);
    delete request.raw.headers['content-type'];
    done();
  });
  const finish = (
    reply: FastifyReply,
    response: HttpResponse,
    event: HttpEvent,
    operation: string,
    began: bigint,
  ) => {
    const { method } = event.requestContext.http;
    const requestId = event.requestContext.requestId ?? '';
    const handshake = handshakeOf(reply.request.raw);
    // An answer sent before the end of the body must not leave the connection out of step.
    if (handshake === undefined) dropRest(reply.request.raw);
    const sent =
      handshake === undefined || response.upgrade === undefined
        ? send(reply, response, requestId)
        : takeOver(reply, handshake, response.upgrade, requestId, operation);
    return sent.then(
      () => record(operation, method, response.statusCode, requestId, began),
      (error: unknown) => {
        handshake?.socket.destroy();
        record(operation, method, response.statusCode, requestId, began);
        // A client that disconnects is normal. A failure of ours after the head was sent is logged
        // nowhere else.
        const level = error instanceof PortholeError ? 'warn' : 'debug';
        services.log[level]({ err: error, request_id: requestId, operation }, 'answer cut off');
      },
    );
  };
  const takeOver = async (
    reply: FastifyReply,
    handshake: Handshake,
    upgrade: NonNullable<HttpResponse['upgrade']>,
    requestId: string,
    operation: string,
  ) => {
    reply.hijack();
    const { acceptWebSocket } = await import('./web-socket-answer.ts');
    const socket = acceptWebSocket(reply.request.raw, reply.raw, handshake, requestId, {
      stopping: services.stopping,
      ended: (code, ms) =>
        services.log.debug({ operation, code, ms: Math.round(ms), request_id: requestId }, 'socket closed'),
    });
    if (socket !== undefined) upgrade(socket);
  };
  const record = (operation: string, method: string, status: number, requestId: string, began: bigint) => {
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    metrics.requested(operation, status, seconds);
    const fields = { operation, status, ms: Math.round(seconds * 1e4) / 10, request_id: requestId };
    // Probes and polling would hide the other lines.
    if (method === 'GET' && status < 400) services.log.debug(fields, 'request');
    else services.log.info(fields, 'request');
  };
  const answerFailure = (
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
    headers: Record<string, string> = {},
  ) => {
    const began = process.hrtime.bigint();
    const event = toEvent(request, reply, services.ids.request());
    const { requestId } = event.requestContext;
    const response = errorResponse(translate(error), requestId, services.log, UNMATCHED, options.redact);
    Object.assign(response.headers, headers);
    return finish(reply, response, event, UNMATCHED, began);
  };
  const patterns = routes.map(({ method, path }) => ({ method, pattern: pathPattern(path) }));
  const methodsOf = (path: string) =>
    patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  const answerAsBridge = (request: FastifyRequest, reply: FastifyReply) => {
    const began = process.hrtime.bigint();
    const event = toEvent(request, reply, services.ids.request());
    return finish(reply, BRIDGE_NOT_FOUND(), event, UNMATCHED, began);
  };
  app.setErrorHandler((error, request, reply) => void answerFailure(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    if (BRIDGE.test(path)) {
      void answerAsBridge(request, reply);
      return;
    }
    const allowed = methodsOf(path);
    if (allowed.length > 0) {
      // RFC 9110 section 15.5.6: a 405 lists the allowed methods.
      const error = noRoute('method_not_allowed', request.method, path);
      void answerFailure(error, request, reply, { allow: allowed.join(', ') });
      return;
    }
    const began = process.hrtime.bigint();
    const event = toEvent(request, reply, services.ids.request());
    missingPage(event, services).then(
      (page) =>
        page === undefined
          ? answerFailure(noRoute('not_found', request.method, path), request, reply)
          : finish(reply, page, event, UNMATCHED, began),
      (error: unknown) => answerFailure(error, request, reply),
    );
  });
  for (const route of routes) {
    const invoke: PortholeFunction = makeFunction(route, services, options);
    app.route({
      method: route.method,
      url: fastifyPath(route.path),
      handler: async (request, reply) => {
        const began = process.hrtime.bigint();
        if (handshakeOf(request.raw) !== undefined && route.socket !== true) {
          const message = 'There is no WebSocket here: GET /v1/openapi lists the routes.';
          return answerFailure(new PortholeError('not_found', message), request, reply);
        }
        const event = toEvent(request, reply, services.ids.request());
        return finish(reply, await invoke(event, NO_CONTEXT), event, route.id, began);
      },
    });
  }
  return app;
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
const contentTypes = new WeakMap<object, string | undefined>();

/** `/a/{id}/file/{path}` → `/a/:id/file/*` */
function fastifyPath(template: string): string {
  return template.replace(/\{path\}$/, '*').replace(/\{(\w+)\}/g, ':$1');
}

function noRoute(code: 'not_found' | 'method_not_allowed', method: string, path: string): PortholeError {
  return new PortholeError(
    code,
    `There is no route ${method} ${shownPath(path)}: GET /v1/openapi lists them.`,
  );
}

/** The paths that match a template. */
function pathPattern(template: string): RegExp {
  const literal = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replace(/\{path\}$/, '.*').replace(/\{\w+\}/g, '[^/]+')}$`);
}

function toEvent(request: FastifyRequest, reply: FastifyReply, requestId: string): HttpEvent {
  const { raw } = request;
  const url = raw.url ?? '/';
  const mark = url.indexOf('?');
  const rawPath = mark === -1 ? url : url.slice(0, mark);
  let abort: AbortSignal | undefined;
  const handshake = handshakeOf(raw);
  const contentType = contentTypes.get(raw);
  return {
    rawPath,
    rawQueryString: mark === -1 ? '' : url.slice(mark + 1),
    headers:
      contentType === undefined
        ? (raw.headers as HttpEvent['headers'])
        : ({ ...raw.headers, 'content-type': contentType } as HttpEvent['headers']),
    pathParameters: pathParameters(request, rawPath),
    requestContext: { requestId, http: { method: raw.method ?? 'GET', sourceIp: raw.socket.remoteAddress } },
    handshake: handshake === undefined ? undefined : { check: () => checkHandshake(raw) },
    bodyStream: () => raw,
    get signal() {
      abort ??= handshake === undefined ? abortWhenGone(reply.raw) : abortAtEnd(handshake.socket);
      return abort;
    },
  };
}

/** The tail of a wildcard is passed on still encoded: the function decodes it exactly once. */
function pathParameters({ params }: FastifyRequest, rawPath: string): Record<string, string> {
  // fastify provides none if it rejects a URL before it has found a route.
  const named = (params ?? {}) as Record<string, string>;
  if (named['*'] === undefined) return named;
  const { '*': tail, ...rest } = named;
  const marker = rawPath.indexOf('/file/');
  return { ...rest, path: marker === -1 ? tail : rawPath.slice(marker + '/file/'.length) };
}

/** Aborted when the connection breaks before the answer is complete. */
function abortWhenGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const check = () => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.destroyed) check();
  else response.once('close', check);
  return controller.signal;
}

/** Aborted when the connection ends, however it does. */
function abortAtEnd(socket: Duplex): AbortSignal {
  const controller = new AbortController();
  if (socket.destroyed) controller.abort();
  else socket.once('close', () => controller.abort());
  return controller.signal;
}

async function send(
  reply: FastifyReply,
  { statusCode, headers, body }: HttpResponse,
  requestId: string,
): Promise<void> {
  reply.hijack();
  const response: ServerResponse = reply.raw;
  const all: Record<string, string | number> = { ...withSafeHeaders(headers), 'x-request-id': requestId };
  if (body instanceof Readable) {
    response.writeHead(statusCode, all);
    if (response.req.method === 'HEAD') {
      body.destroy();
      response.end();
      return;
    }
    // Sends the head before the first bytes of the stream exist.
    response.flushHeaders();
    await pipeline(body, response);
    return;
  }
  if (statusCode !== 204) all['content-length'] = body === undefined ? 0 : Buffer.byteLength(body);
  response.writeHead(statusCode, all);
  response.end(body);
}

/** Converts the framework's own errors. */
function translate(error: unknown): unknown {
  const { statusCode } = error as { statusCode?: number };
  if (statusCode === 414) return new PortholeError('uri_too_long', 'The URL is too long.', { cause: error });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new PortholeError(
      'invalid_request',
      'The request cannot be read: its URL is not valid percent-encoded UTF-8.',
      { cause: error },
    );
  }
  return error;
}

/** An unknown path in an error: truncated, and without possible tokens. */
function shownPath(path: string): string {
  return JSON.stringify(path.replace(/[a-z0-9-]{30,}/g, '…').slice(0, 100));
}
