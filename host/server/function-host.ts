import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { dropRest } from '#proxy/status-answer.ts';
import type { TrustedProxies } from '#proxy/client-address.ts';
import { onceOpen } from '#base/concurrency.ts';
import { freeSentPieces } from '#base/free-buffer.ts';
import { missingPage } from '#handlers/console/console-page.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { makeFunction, type FunctionOptions } from '#handlers/make-function.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import { withSafeHeaders } from '#handlers/http/response-headers.ts';
import type { Services } from '#handlers/services.ts';
import { tracedRequest } from '../telemetry/traced-request.ts';
import { HandshakeResponse } from './handshake.ts';
import type { MetricRecorder } from '../telemetry/metrics.ts';
import { requestEvent } from './request-event.ts';
import { type Answer, createRouter, type LazyRoute, type Target } from './router.ts';

export interface FunctionHostOptions extends FunctionOptions {
  readonly routes: readonly LazyRoute[];
  readonly services: Services;
  readonly metrics: MetricRecorder;
  /** @default - the client is the peer */
  readonly trustedProxies?: TrustedProxies | undefined;
}

/**
 * Runs the functions over HTTP: routes requests, leaves bodies unread, streams responses, and gives
 * all errors one shape. Serves what the strict front lets through.
 */
export function createFunctionHost({
  routes,
  services,
  metrics,
  trustedProxies,
  ...options
}: FunctionHostOptions): RequestListener {
  const { log, ids } = services;
  const serve = async (
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    { operation, answer, params }: Target,
  ): Promise<HttpResponse> => {
    const began = performance.now();
    const requestId = ids.request();
    const event = requestEvent(req, res, requestId, path, params, trustedProxies);
    let response: HttpResponse;
    try {
      response = await answer(event);
    } catch (error) {
      response = errorResponse(error, requestId, log, operation, options.redact);
    }
    try {
      const sending = send(res, response, requestId, operation);
      if (sending !== undefined) await sending;
    } catch (err) {
      response = endFailed(res, response, err, requestId, operation);
    }
    const seconds = (performance.now() - began) / 1e3;
    metrics.record('porthole_http_requests_total', { operation, status: response.statusCode });
    metrics.record('porthole_http_request_duration_seconds', { operation }, seconds);
    const ms = Math.round(seconds * 1e4) / 10;
    const fields = { operation, status: response.statusCode, ms, request_id: requestId };
    // Probes and polling would hide the other lines.
    if (req.method === 'GET' && response.statusCode < 400) log.debug(fields, 'request');
    else log.info(fields, 'request');
    return response;
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

  /**
   * A client that has nothing of the answer gets an error; others see that the answer is cut off
   * (RFC 9112 section 8).
   */
  const endFailed = (
    res: ServerResponse,
    response: HttpResponse,
    error: unknown,
    requestId: string,
    operation: string,
  ): HttpResponse => {
    if (response.body instanceof Readable) discard(response.body);
    if (!res.headersSent && !res.destroyed && res.socket !== null) {
      const answer = errorResponse(error, requestId, log, operation, options.redact);
      // Removes the status message of the refused response.
      res.statusMessage = '';
      void sendResponse(res, answer, requestId);
      return answer;
    }
    // A client that disconnected is normal: the response itself has not failed then.
    const level = res.destroyed && !res.errored ? 'debug' : 'warn';
    res.req.socket.destroy();
    log[level]({ err: res.errored ?? error, request_id: requestId, operation }, 'answer cut off');
    return response;
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

  const router = createRouter({
    routes,
    answerOf: (route) => onceLoaded(async () => makeFunction(await route.load(), services, options)),
    missingPage: (event) => missingPage(event, services),
    log,
    redact: options.redact,
  });
  return (req, res) => {
    const { method = 'GET', url = '/' } = req;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const target = router.find(method, path, res instanceof HandshakeResponse);
    void tracedRequest(method, req.headers, target, () => serve(req, res, path, target));
  };
}

/** Loads the answer at the first request, for all requests; after a failure again at the next. */
function onceLoaded(load: () => Promise<Answer>): Answer {
  let answer: Answer | undefined;
  const loaded = onceOpen(load);
  const first = async (event: HttpEvent) => {
    answer = await loaded();
    return answer(event);
  };
  return (event) => (answer ?? first)(event);
}

/** Returns a promise for a stream only. */
function sendResponse(
  res: ServerResponse,
  { statusCode, headers, body }: HttpResponse,
  requestId: string,
): Promise<void> | undefined {
  const all: Record<string, string | number> = withSafeHeaders(headers);
  all['x-request-id'] = requestId;
  if (body instanceof Readable) {
    if (body.errored !== null) throw body.errored;
    res.writeHead(statusCode, all);
    if (res.req.method === 'HEAD') {
      discard(body);
      res.end();
      return undefined;
    }
    freeSentPieces(body, res);
    return sendStream(res, body);
  }
  if (statusCode !== 204) all['content-length'] = body === undefined ? 0 : Buffer.byteLength(body);
  res.writeHead(statusCode, all);
  res.end(body);
  return undefined;
}

/** How long a head waits for the first bytes of its stream, in milliseconds. */
const HEAD_WAITS_MS = 10;

/**
 * The head goes out with the first bytes, and with the end where it is there too: a short command
 * is one write. A stream that is silent at first sends its head alone.
 */
async function sendStream(res: ServerResponse, body: Readable): Promise<void> {
  // Not the response: `end` would send the last chunk before those that its cork holds.
  const { socket } = res;
  socket?.cork();
  let isHeld = true;
  const release = (): void => {
    // `end` uncorks by itself, and the next response may use the socket by now.
    if (!isHeld || res.writableEnded) return;
    isHeld = false;
    socket?.uncork();
    res.flushHeaders();
  };
  const late = setTimeout(release, HEAD_WAITS_MS);
  // Before `pipe`, which destroys the response: its client sees an answer that is cut off.
  body.once('error', release);
  const sent = pipe(body, res);
  body.once('data', () => setImmediate(release));
  await sent.finally(() => clearTimeout(late));
}

/** As `pipeline` of Node, which aborts a signal at each end: an exception with its stack. */
function pipe(body: Readable, res: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(error);
      body.destroy(error);
      res.destroy(error);
    };
    const closed = (): void => {
      const isOver = body.destroyed && !body.readableEnded;
      if (isOver || (res.destroyed && !res.writableFinished)) fail(new Error('the answer was cut off'));
    };
    body.on('error', fail).once('close', closed);
    res.on('error', fail).once('close', closed).once('finish', resolve);
    body.pipe(res);
    closed();
  });
}

function discard(body: Readable): void {
  // An unhandled error would end the process.
  body.on('error', () => undefined).destroy();
}
