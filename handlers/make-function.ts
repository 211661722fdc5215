import middy from '@middy/core';
import { PassThrough, Readable } from 'node:stream';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { guardCredential } from './http/guard-credential.ts';
import type { HttpEvent, HttpResponse } from './http/http-event.ts';
import { admit, type ChainEvent, type Step } from './http/admit.ts';
import { authenticate } from './http/authenticate.ts';
import { checkBridgeId, guardOrigin } from './http/guards.ts';
import { readInput } from './http/read-input.ts';
import { renderErrors } from './http/render-errors.ts';
import type { Route } from './route.ts';
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
    renderErrors(services.log, route.id, redact, ({ headers }) => route.challenge?.(services, headers)),
    ...(route.path.startsWith('/v1/sandbox/{id}') ? [checkBridgeId()] : []),
    // Before authentication: a foreign page must not learn whether a credential is valid.
    ...(route.anyOrigin === true
      ? []
      : [guardOrigin({ page: route.page, publicOrigin: options.publicOrigin })]),
    // Before the input: strangers cannot cause a body to be read and parsed.
    authenticate(services, route, options.publicOrigin),
    // Before the body is read: queued requests use no memory.
    admit(() => services.admission, route),
    readInput(route),
  ];
  const handler = (event: ChainEvent): Promise<HttpResponse> => {
    const { params, query, body } = event.input ?? { params: {}, query: {}, body: undefined };
    return guardCredential(services, event.caller, event.signal, (signal) =>
      route.handle(
        {
          params,
          query,
          body,
          // Routes for anyone never read it.
          caller: event.caller ?? { kind: 'person', user: '', org: '', admin: false },
          headers: event.headers,
          stream: () => bodyStream(event),
          handshake: event.handshake,
          signal,
          redact,
          sourceIp: event.requestContext.http.sourceIp,
        },
        services,
      ),
    );
  };
  // middy's types use AWS Lambda's event and context; ours are the subset that we read.
  return (middy as unknown as (handler: unknown) => { use(steps: Step[]): PortholeFunction })(handler).use(
    chain,
  );
}

function bodyStream(event: HttpEvent): Readable {
  if (event.bodyStream !== undefined) return event.bodyStream();
  const whole = new PassThrough();
  whole.end(Buffer.from(event.body ?? '', event.isBase64Encoded === true ? 'base64' : 'utf8'));
  return whole;
}
