import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { onceOpen } from '#base/concurrency.ts';
import { PortholeError } from '#base/errors.ts';
import { type HttpEvent, type HttpResponse, isVerbose } from '#handlers/http/http-event.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import { type Answer, createRouter, type LazyRoute, type Router, type Target } from '../server/router.ts';
import { startTelemetry } from '../telemetry/start-telemetry.ts';
import { tracedRequest } from '../telemetry/traced-request.ts';
import { bufferedEnding, type Deadline, remaining } from './deadline.ts';
import {
  type GatewayEvent,
  type GatewayRequest,
  type GatewayResult,
  readGatewayEvent,
  resultHeaders,
  shaped,
  toGatewayResult,
} from './gateway-event.ts';
import { collectorOf } from '../config/collector.ts';
import { lineLogger, logRequest } from './line-logger.ts';
import { limitedFunction, openFunction, type OpenFunction } from './open-function.ts';
import { openNothing } from './open-nothing.ts';

/** A request with its path as routes have it, and what answers it. */
interface FoundRequest {
  readonly event: HttpEvent;
  readonly target: Target;
}

/** A function of a runtime that buffers. */
type GatewayFunction = (event: GatewayEvent, context?: Deadline) => Promise<GatewayResult>;

/** The global of AWS Lambda's Node.js runtime for responses that are streamed. */
interface StreamingRuntime {
  streamifyResponse(handler: StreamingHandler): StreamingHandler;
  readonly HttpResponseStream: { from(stream: Writable, head: object): Writable };
}

type StreamingHandler = (event: GatewayEvent, stream: Writable, context?: Deadline) => Promise<void>;

export interface RouterFunctions {
  /** Buffers responses: for every trigger. */
  readonly handler: GatewayFunction;
  /**
   * Streams responses: for function URLs with the invoke mode `RESPONSE_STREAM`, and REST APIs with
   * the transfer mode `STREAM`. On a runtime without streams: `handler`.
   */
  readonly stream: GatewayFunction | StreamingHandler;
}

/**
 * What has not ended by itself is aborted this long before the runtime freezes or ends the process,
 * in milliseconds.
 */
const ABORTED_MS = 500;

/**
 * All routes in one function. The first request opens the services; the first request of a route
 * loads its module.
 */
export function routerFunction(
  routes: readonly LazyRoute[],
  open: () => Promise<OpenFunction> = openFunction,
  runtime = (globalThis as { awslambda?: StreamingRuntime }).awslambda,
): RouterFunctions {
  let log = lineLogger();
  let redact: ((text: string) => string) | undefined;
  const opened = onceOpen(async () => {
    const found = await open();
    ({ log } = found.services);
    ({ redact } = found.options);
    return found;
  });
  const unopened = onceOpen(openNothing);
  const startedTelemetry = onceOpen(() => startTelemetry(collectorOf(process.env), log));

  const answerOf = ({ opens, verbose, load }: LazyRoute): Answer => {
    const made = (found: () => Promise<OpenFunction>) =>
      onceOpen(async () => limitedFunction(...(await Promise.all([load(), found()]))));
    const [usual, full] = [made(opens ? opened : unopened), made(opened)];
    return async (event) => (await (verbose === true && isVerbose(event) ? full() : usual()))(event);
  };
  const routerOf = (answers: (route: LazyRoute) => Answer): Router =>
    createRouter({
      routes,
      answerOf: answers,
      async missingPage(event) {
        const [{ missingPage }, { services }] = await Promise.all([
          import('#handlers/console/console-page.ts'),
          unopened(),
        ]);
        return missingPage(event, services);
      },
      log,
    });
  const refuse = (id: string): Answer => {
    return ({ rawPath }) => {
      throw notStreamable(id, rawPath);
    };
  };
  const buffering = routerOf((route) => (route.isEndless ? refuse(route.id) : answerOf(route)));

  const find = (router: Router, { event, stage }: GatewayRequest): FoundRequest => {
    const { method } = event.requestContext.http;
    const rawPath = withoutPrefix(method, event.rawPath, stage, router);
    return { target: router.find(method, rawPath, false), event: { ...event, rawPath } };
  };
  const serve = (
    { target: { operation, answer, params }, event }: FoundRequest,
    ends: Pick<HttpEvent, 'ending' | 'signal'>,
  ) => attempt(operation, event, () => answer({ ...event, ...ends, pathParameters: params }));
  const attempt = async (
    operation: string,
    { requestContext: { requestId } }: HttpEvent,
    respond: () => HttpResponse | Promise<HttpResponse>,
  ): Promise<HttpResponse> => {
    try {
      return await respond();
    } catch (error) {
      return errorResponse(error, requestId, log, operation, redact);
    }
  };

  const handler: GatewayFunction = async (given, context) => {
    const began = performance.now();
    const request = readGatewayEvent(given);
    const { event, format } = request;
    const { requestId, http } = event.requestContext;
    const found = find(buffering, request);
    const { operation } = found.target;
    const telemetry = await startedTelemetry();
    const answered = await tracedRequest(http.method, event.headers, found.target, async () => {
      const response = await serve(found, { ending: bufferedEnding(context) });
      if (http.method === 'HEAD') dropBody(response);
      const result = await toGatewayResult(response, requestId, format).catch((error: unknown) =>
        toGatewayResult(errorResponse(error, requestId, log, operation, redact), requestId, format),
      );
      logRequest(log, operation, event, result.statusCode, began);
      return result;
    });
    // Not awaited: the client would wait. A runtime that freezes here goes on at the next request.
    void telemetry?.flush();
    return answered;
  };
  if (runtime === undefined) return { handler, stream: handler };

  // A WebSocket needs the connection itself, which no runtime passes on.
  const streaming = routerOf((route) => (route.socket === true ? refuse(route.id) : answerOf(route)));
  const stream = runtime.streamifyResponse(async (given, underlying, context) => {
    const began = performance.now();
    const request = readGatewayEvent(given);
    const { event, format } = request;
    const { requestId, http } = event.requestContext;
    const found = find(streaming, request);
    const { operation } = found.target;
    const telemetry = await startedTelemetry();
    await tracedRequest(http.method, event.headers, found.target, async () => {
      const response = await serve(found, streamEnds(context));
      if (http.method === 'HEAD') dropBody(response);
      const { statusCode, headers, body = '' } = response;
      const head = { statusCode, ...shaped(resultHeaders(headers, requestId), format) };
      const out = runtime.HttpResponseStream.from(underlying, head);
      // The runtime sends the head with the first write, even an empty one.
      out.write('');
      try {
        await pipeline(body instanceof Readable ? body : Readable.from([body]), out);
      } catch (err) {
        log.debug({ err, request_id: requestId, operation }, 'answer cut off');
      }
      logRequest(log, operation, event, statusCode, began);
      return response;
    });
    // The client has its answer.
    await telemetry?.flush(ABORTED_MS);
  });
  return { handler, stream };
}

/** Waits and event streams end first, and tell the client; then everything else. */
function streamEnds(context: Deadline | undefined): Pick<HttpEvent, 'ending' | 'signal'> {
  const [rest, last] = [remaining(context), remaining(context, ABORTED_MS)];
  if (rest === undefined || last === undefined) return {};
  return { ending: () => AbortSignal.timeout(rest), signal: AbortSignal.timeout(last) };
}

function dropBody(response: HttpResponse): void {
  if (response.body instanceof Readable) response.body.destroy();
  response.body = '';
}

/**
 * The path without what precedes it: the name of a stage, or the path of `PORTHOLE_PUBLIC_URL`
 * where a domain is mapped with a base path. A route with that name wins.
 */
function withoutPrefix(method: string, path: string, stage: string | undefined, router: Router): string {
  if (router.has(method, path)) return path;
  const base = URL.parse(process.env['PORTHOLE_PUBLIC_URL'] ?? '')?.pathname.replace(/\/$/, '');
  for (const prefix of [stage && `/${stage}`, base]) {
    if (!prefix) continue;
    if (path === prefix) return '/';
    if (path.startsWith(`${prefix}/`)) return path.slice(prefix.length);
  }
  return path === '' ? '/' : path;
}

function notStreamable(operation: string, path: string): PortholeError {
  const origin = URL.parse(process.env['PORTHOLE_PUBLIC_URL'] ?? '')?.origin;
  const place = origin === undefined ? 'the function host' : `${origin}${path}`;
  return new PortholeError(
    'not_streamable',
    `${operation} streams, and no stream passes through this function`,
    { remedy: `send the request to ${place}.` },
  );
}
