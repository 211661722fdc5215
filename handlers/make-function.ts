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

/** A function as any middy host invokes it. */
export type PortholeFunction = (event: HttpEvent, context: object) => Promise<HttpResponse>;

export interface FunctionOptions {
  /**
   * The origin under which people reach Porthole, where that differs from the Host that arrives
   * here.
   */
  readonly publicOrigin?: string | undefined;
  /** Takes secrets out of error messages. @default what has the form of a token */
  readonly redact?: ((text: string) => string) | undefined;
}

const byForm = secretRedactor([]);

/** Makes the function of one route. The order of the chain is the order of this list. */
export function makeFunction(
  route: Route,
  services: Services,
  options: FunctionOptions = {},
): PortholeFunction {
  const { redact = byForm } = options;
  const chain: Step[] = [
    // Around everything, so that whatever a later step throws becomes an answer.
    renderErrors(services.log, route.id, redact),
    ...(route.path.startsWith('/v1/sandbox/{id}') ? [checkBridgeId()] : []),
    // Before the credential: a browser acting for a foreign page must not even find out whether one
    // is good.
    guardOrigin({ page: route.page, publicOrigin: options.publicOrigin }),
    // Before the input: strangers cannot make us read and parse a body.
    authenticate(services, route, options.publicOrigin),
    // Before the body is read: what waits costs no memory.
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
          // Routes for anyone never look at it.
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
  // middy's types speak of AWS Lambda's own event and context; ours are the part of them that we
  // read.
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
