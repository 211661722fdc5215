import {
  type Agent,
  type Caller,
  credentialOf,
  type Delegate,
  type Person,
  type SharedAccess,
  superiorOf,
} from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { KeyScope } from '#core/auth/api-key-store.ts';
import type { Authenticator } from '#core/auth/authenticator.ts';
import type { Sessions } from '#core/auth/sign-in.ts';
import { limitInTheWay } from '#core/delegations/delegation-store.ts';
import type { GuessLimit } from '#core/auth/guess-limit.ts';
import type { HttpEvent } from './http-event.ts';
import type { Route } from '../route.ts';
import { cookieOf, sessionCookie } from '../auth/session-cookie.ts';
import type { Step } from './admit.ts';

/**
 * Identifies the caller. A presented credential is always verified: an invalid one never falls back
 * to `local`.
 * @throws PortholeError `unauthorized`; `forbidden` for an agent, a delegate or a key's scope on a
 * route that does not allow them
 */
export async function identify(
  authenticator: Authenticator,
  route: Pick<Route, 'access' | 'agents' | 'delegates' | 'shared' | 'socket' | 'summary'>,
  event: HttpEvent,
  publicOrigin?: string,
): Promise<Caller | undefined> {
  if (route.access === 'anyone') return undefined;
  const credential = presentedCredential(event, route);
  const caller =
    credential === undefined
      ? ((await personOfSession(authenticator.sessions, event, publicOrigin)) ??
        authenticator.withoutCredential)
      : await authenticator.authenticate(credential);
  if (caller === undefined) {
    if (credential === undefined && route.access === 'local' && comesFromThisMachine(event)) return undefined;
    throw new PortholeError('unauthorized', 'Unauthorized');
  }
  if (caller.kind === 'agent' && route.agents !== true) throw notFor(caller, route);
  if (caller.kind === 'delegate') checkDelegate(caller, route, event.pathParameters?.['id']);
  if (caller.kind !== 'person') return caller;
  if (caller.key !== undefined) checkKeyScope(caller.key.scope, route, event);
  const via = sharedAccess(route, event);
  return via === undefined ? caller : { ...caller, via };
}

function sharedAccess(
  { shared: { run, sandbox } = {} }: Pick<Route, 'shared'>,
  { pathParameters }: HttpEvent,
): SharedAccess | undefined {
  const id = pathParameters?.['id'] ?? '';
  if (run !== undefined) return { needs: run, of: 'run', id };
  return sandbox && { needs: sandbox, of: 'sandbox', id };
}

/** RFC 9110 §9.2.1, of those that routes have. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * The person of the session cookie, after `guardOrigin` has rejected cross-site requests. CSRF:
 * unsafe methods and WebSocket upgrades must also send Origin. Browsers do; a request without it
 * may come from anything that a browser was led to.
 */
async function personOfSession(
  sessions: Sessions | undefined,
  { headers, requestContext, handshake }: HttpEvent,
  publicOrigin: string | undefined,
): Promise<Person | undefined> {
  const sealed = cookieOf(headers['cookie'], sessionCookie(publicOrigin));
  if (sessions === undefined || sealed === undefined) return undefined;
  const isSafe = SAFE_METHODS.has(requestContext.http.method) && handshake === undefined;
  if (!isSafe && headers['origin'] === undefined) {
    throw new PortholeError(
      'origin_not_allowed',
      'A request with the session of a browser must have the Origin header',
      { remedy: 'programs send a key instead, in the Authorization header.' },
    );
  }
  return sessions.authenticate(sealed);
}

function notFor(caller: Agent | Delegate, { summary }: Pick<Route, 'summary'>): PortholeError {
  return new PortholeError('forbidden', `${credentialOf(caller)} cannot do this (${summary})`, {
    remedy: `ask ${superiorOf(caller)}.`,
  });
}

/**
 * Checks a delegate's scope before anything else of the request: routes without `delegates` reject
 * delegates.
 * @throws PortholeError `forbidden`
 */
function checkDelegate(
  caller: Delegate,
  route: Pick<Route, 'delegates' | 'summary'>,
  sandboxId: string | undefined,
): void {
  const { delegates } = route;
  if (delegates === undefined) throw notFor(caller, route);
  if (sandboxId !== caller.sandboxId) {
    throw new PortholeError('forbidden', `This credential is valid for sandbox ${caller.sandboxId} only`, {
      remedy: 'ask the owner of the other sandbox for a credential.',
    });
  }
  const { scope, enforces } = delegates;
  if (!caller.grant.scopes.includes(scope)) {
    throw new PortholeError(
      'forbidden',
      `This credential has no scope ${scope}, only ${caller.grant.scopes.join(', ')}`,
      { remedy: `ask ${superiorOf(caller)} for one that has.` },
    );
  }
  const limit = limitInTheWay(caller.grant, scope, enforces);
  if (limit !== undefined) {
    throw new PortholeError(
      'forbidden',
      `This credential is limited to certain ${limit}, which this operation cannot enforce (${route.summary})`,
      { remedy: `ask ${superiorOf(caller)} for one without ${limit}.` },
    );
  }
}

/**
 * Checks what a key's maker allowed it. A WebSocket is no safe request: it carries input.
 * @throws PortholeError `forbidden`
 */
function checkKeyScope(
  scope: KeyScope,
  { agents, socket, summary }: Pick<Route, 'agents' | 'socket' | 'summary'>,
  { requestContext }: HttpEvent,
): void {
  const isSafe = SAFE_METHODS.has(requestContext.http.method) && socket !== true;
  if (scope === 'full' || isSafe || (scope === 'agent' && agents === true)) return;
  throw new PortholeError('forbidden', `This key has the scope ${scope}, which cannot do this (${summary})`, {
    remedy: 'use a key with the scope full, or ask its maker to do it.',
  });
}

/**
 * The bearer token; empty if the credential is malformed.
 */
function presentedCredential(
  event: HttpEvent,
  { access, socket }: Pick<Route, 'access' | 'socket'>,
): string | undefined {
  const { authorization } = event.headers;
  if (authorization !== undefined) return bearerOf(authorization);
  if (access !== 'key' && socket !== true) return undefined;
  const query = new URLSearchParams(event.rawQueryString);
  const header = socket === true ? query.get('authorization') : null;
  if (header !== null) return bearerOf(header);
  return (access === 'key' ? query.get('token') : null) ?? undefined;
}

function bearerOf(authorization: string): string {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/**
 * Headers of proxies. Behind a proxy on the same machine every request comes from a loopback
 * address.
 */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

function comesFromThisMachine({ headers, requestContext }: HttpEvent): boolean {
  const address = requestContext.http.sourceIp;
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === '::1');
}

/** @throws like `identify`, and PortholeError `too_many_requests` for an address that guesses */
export function authenticate(
  services: { readonly authenticator: Authenticator; readonly guesses: GuessLimit },
  route: Route,
  publicOrigin?: string,
): Step {
  return {
    before: async ({ event }) => {
      const credential = presentedCredential(event, route);
      try {
        const caller = await identify(services.authenticator, route, event, publicOrigin);
        if (caller !== undefined) event.caller = caller;
      } catch (error) {
        const isWrong = error instanceof PortholeError && error.code === 'unauthorized';
        const { sourceIp } = event.requestContext.http;
        if (isWrong && credential !== undefined) countGuess(services.guesses, sourceIp, credential);
        throw error;
      }
    },
  };
}

/**
 * Called for a wrong secret. A right one is never refused: others at the same address may guess,
 * and keys and tokens are too long to be guessed.
 * @throws PortholeError `too_many_requests`
 */
export function countGuess(guesses: GuessLimit, address: string | undefined, secret: string): void {
  const seconds = guesses.blockedFor(address, secret);
  if (seconds === 0) return guesses.wrong(address, secret);
  throw new PortholeError('too_many_requests', 'Too many wrong keys or tokens came from your address', {
    remedy: `try again in ${seconds} seconds.`,
    retryAfterSeconds: seconds,
  });
}
