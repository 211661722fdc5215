import middy from '@middy/core';
import { PassThrough, Readable } from 'node:stream';
import { type Caller, requirePerson } from '#core/callers.ts';
import { withCause } from '#core/audit/present-cause.ts';
import { guardCredential, type LazySignal } from './http/guard-credential.ts';
import { type HttpEvent, type HttpResponse, isVerbose } from './http/http-event.ts';
import { admit, type ChainEvent, type Step } from './http/admit.ts';
import { authenticate } from './http/authenticate.ts';
import { bridgeIdSegment, checkBridgeId, guardOrigin } from './http/guards.ts';
import { requestCause } from './http/request-cause.ts';
import { readInput } from './http/read-input.ts';
import { redactTokens, renderErrors } from './http/render-errors.ts';
import type { Route, RouteRequest } from './route.ts';
import type { Services } from './services.ts';

/** The function of a route, for any host. */
export type PortholeFunction = (event: HttpEvent) => Promise<HttpResponse>;

export interface FunctionOptions {
  /** The origin at which people reach Porthole, if it differs from the Host header. */
  readonly publicOrigin?: string | undefined;
  /** Removes secrets from error messages. @default everything in the form of a token */
  readonly redact?: ((text: string) => string) | undefined;
}

/**
 * Creates the function of one route. The order of `use` is the order of the chain; errors are
 * rendered by its first step, after all others.
 */
export function makeFunction(
  route: Route,
  services: Services,
  options: FunctionOptions = {},
): PortholeFunction {
  const own = chainOf(route, services, options);
  if (route.verbose === undefined) return own;
  const verbose = chainOf(route.verbose, services, options);
  return (event) => (isVerbose(event) ? verbose({ ...event, rawQueryString: '' }) : own(event));
}

function chainOf(
  route: Route,
  services: Services,
  { publicOrigin, redact = redactTokens }: FunctionOptions,
): PortholeFunction {
  const chain = middy<ChainEvent, HttpResponse, unknown, object>((event: ChainEvent) =>
    guardCredential(
      services,
      event.caller,
      () => event.signal,
      (signal) =>
        withCause(requestCause(event), () => route.handle(routeRequest(event, redact, signal), services)),
    ),
  )
    .use(renderErrors(services, route, redact))
    .use(received(route, services));
  const idSegment = bridgeIdSegment(route.path);
  if (idSegment !== undefined) chain.use(checkBridgeId(idSegment));
  // Before authentication: a foreign page must not learn whether a credential is valid.
  if (route.anyOrigin !== true) chain.use(guardOrigin({ page: route.page, publicOrigin }));
  // Before the input: strangers cannot cause a body to be read and parsed.
  if (route.access !== 'anyone') chain.use(authenticate(services, route, publicOrigin));
  // Before the body is read: queued requests use no memory.
  chain.use(admit(services, route)).use(readInput(route));
  return (event) => chain(event, NO_CONTEXT);
}

/** @throws what `route.receives` throws, which the chain renders */
function received(route: Route, services: Services): Step {
  return {
    async before(request) {
      if (route.receives === undefined) return;
      Object.assign(request.event, await route.receives(request.event, services));
    },
  };
}

/** With a runtime's context, middy would end requests before its time limit by its own error. */
const NO_CONTEXT = {};

function routeRequest(
  event: ChainEvent,
  redact: (text: string) => string,
  signal: LazySignal,
): RouteRequest<unknown, unknown, unknown> {
  const { caller = ANYONE, headers, input, handshake, requestContext } = event;
  return {
    params: input?.params,
    query: input?.query,
    body: input?.body,
    caller,
    headers,
    handshake,
    sourceIp: requestContext.http.sourceIp,
    stream: () => bodyStream(event),
    redact,
    get person() {
      return requirePerson(caller, 'do this');
    },
    get signal() {
      return signal();
    },
  };
}

/** The caller of routes for anyone, which never read it. */
const ANYONE: Caller = { kind: 'person', user: '', org: '', admin: false };

function bodyStream(event: HttpEvent): Readable {
  if (event.bodyStream !== undefined) return event.bodyStream();
  const whole = new PassThrough();
  whole.end(Buffer.from(event.body ?? '', event.isBase64Encoded === true ? 'base64' : 'utf8'));
  return whole;
}
