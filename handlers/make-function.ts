import middy, { type PluginExecutionMode } from '@middy/core';
import { PassThrough, Readable } from 'node:stream';
import { type Caller, type Person, requirePerson } from '#core/callers.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { guardCredential, type LazySignal } from './http/guard-credential.ts';
import type { Handshake, HttpEvent, HttpResponse } from './http/http-event.ts';
import { admit, type ChainEvent, type Step } from './http/admit.ts';
import { authenticate } from './http/authenticate.ts';
import { checkBridgeId, guardOrigin } from './http/guards.ts';
import { readInput } from './http/read-input.ts';
import { renderErrors } from './http/render-errors.ts';
import type { Route, RouteRequest } from './route.ts';
import type { Services } from './services.ts';

/** A function for any middy host. */
export type PortholeFunction = (event: HttpEvent, context: object) => Promise<HttpResponse>;

export interface FunctionOptions {
  /** The origin at which people reach Porthole, if it differs from the Host header. */
  readonly publicOrigin?: string | undefined;
  /** Removes secrets from error messages. @default everything in the form of a token */
  readonly redact?: ((text: string) => string) | undefined;
}

const byForm = secretRedactor([]);

/** Creates the function of one route. The order of the list is the order of the chain. */
export function makeFunction(
  route: Route,
  services: Services,
  options: FunctionOptions = {},
): PortholeFunction {
  const { redact = byForm } = options;
  const chain: Step[] = [
    // Outermost, so that any error of a later step becomes a response.
    renderErrors(
      services.log,
      route.id,
      redact,
      ({ headers }) => route.challenge?.(services, headers),
      route.bridge,
    ),
    ...(route.path.startsWith('/v1/sandbox/{id}') ? [checkBridgeId()] : []),
    // Before authentication: a foreign page must not learn whether a credential is valid.
    ...(route.anyOrigin === true
      ? []
      : [guardOrigin({ page: route.page, publicOrigin: options.publicOrigin })]),
    // Before the input: strangers cannot cause a body to be read and parsed.
    ...(route.access === 'anyone' ? [] : [authenticate(services, route, options.publicOrigin)]),
    // Before the body is read: queued requests use no memory.
    admit(() => services.admission, route),
    readInput(route),
  ];
  const handler = (event: ChainEvent): Promise<HttpResponse> =>
    guardCredential(
      services,
      event.caller,
      () => event.signal,
      (signal) => route.handle(new ChainRequest(event, redact, signal), services),
    );
  // middy's type has no parameters.
  const executionMode = runChain as unknown as PluginExecutionMode;
  return middy<ChainEvent, HttpResponse, unknown, object>(handler, { executionMode }).use(chain);
}

/** A class, because it has getters: each literal with one would be built anew. */
class ChainRequest implements RouteRequest<unknown, unknown, unknown> {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly caller: Caller;
  readonly headers: HttpEvent['headers'];
  readonly handshake: Handshake | undefined;
  readonly sourceIp: string | undefined;
  readonly stream: () => Readable;
  readonly redact: (text: string) => string;
  readonly #signal: LazySignal;

  constructor(event: ChainEvent, redact: (text: string) => string, signal: LazySignal) {
    this.params = event.input?.params;
    this.query = event.input?.query;
    this.body = event.input?.body;
    this.caller = event.caller ?? ANYONE;
    this.headers = event.headers;
    this.handshake = event.handshake;
    this.sourceIp = event.requestContext.http.sourceIp;
    this.stream = () => bodyStream(event);
    this.redact = redact;
    this.#signal = signal;
  }

  get person(): Person {
    return requirePerson(this.caller, 'do this');
  }

  get signal(): AbortSignal | undefined {
    return this.#signal();
  }
}

/** The caller of routes for anyone, which never read it. */
const ANYONE: Caller = { kind: 'person', user: '', org: '', admin: false };

function bodyStream(event: HttpEvent): Readable {
  if (event.bodyStream !== undefined) return event.bodyStream();
  const whole = new PassThrough();
  whole.end(Buffer.from(event.body ?? '', event.isBase64Encoded === true ? 'base64' : 'utf8'));
  return whole;
}

type Hook = NonNullable<Step['before']>;
type ChainState = Parameters<Hook>[0];

/**
 * middy's execution mode for our chains. Unlike in its standard mode, a request has no
 * AbortController and no time limit of Lambda, and the chain is one promise. Steps do not answer
 * early: they throw.
 */
function runChain(
  { middyRequest }: { middyRequest: (event: ChainEvent, context: object) => ChainState },
  before: readonly Hook[],
  handler: (event: ChainEvent) => Promise<HttpResponse>,
  after: readonly Hook[],
  onError: readonly Hook[],
) {
  return async (event: ChainEvent, context: object): Promise<HttpResponse> => {
    const state = middyRequest(event, context);
    try {
      for (const step of before) {
        const waiting = step(state) as Promise<void> | undefined;
        if (waiting !== undefined) await waiting;
      }
      state.response = await handler(event);
      for (const step of after) step(state);
    } catch (error) {
      state.response = undefined;
      state.error = error;
      for (const step of onError) step(state);
    }
    if (state.response == null) throw state.error;
    return state.response;
  };
}
