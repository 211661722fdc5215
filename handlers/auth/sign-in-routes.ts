import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { auditSession } from '#core/audit/audit-session.ts';
import { OPTIONAL_FEATURES } from '#protocol/settings/optional-features.ts';
import { countGuess } from '../http/authenticate.ts';
import { defineRoute, json } from '../route.ts';
import { cookieOf, sessionCookie, sessionSetCookie, setCookie } from './session-cookie.ts';

const NO_STORE = { 'cache-control': 'no-store' };

const getSignInRoute = defineRoute('getSignIn', 'GET', '/api/sign-in', {
  tag: 'Sessions',
  summary: 'How people sign in with a browser',
  access: 'anyone',
  signsIn: true,
  responses: {
    200: {
      description: 'The sign-in methods; empty if no sign-in is required or browsers cannot sign in',
      schema: z
        .object({ needed: z.boolean(), methods: z.array(z.enum(['key', 'oidc'])) })
        .meta({ id: 'SignInMethods' }),
    },
  },
  handle: (_request, { authenticator: { withoutCredential, sessions } }) =>
    Promise.resolve(
      json(200, {
        needed: withoutCredential === undefined,
        methods: withoutCredential === undefined ? (sessions?.methods ?? []) : [],
      }),
    ),
});

const getSessionRoute = defineRoute('getSession', 'GET', '/api/session', {
  tag: 'Sessions',
  summary: 'Who you are',
  responses: {
    200: {
      description: 'The person of the session, or of the key',
      schema: z
        .object({
          user: z.string(),
          org: z.string(),
          admin: z.boolean(),
          features: z.array(z.enum(OPTIONAL_FEATURES)).describe('Those that are not switched off'),
        })
        .meta({ id: 'Session' }),
    },
  },
  handle({ person: { user, org, admin } }, { featuresOff }) {
    const features = OPTIONAL_FEATURES.filter((name) => !featuresOff.has(name));
    return Promise.resolve(json(200, { user, org, admin, features }, NO_STORE));
  },
});

const signInRoute = defineRoute('signIn', 'POST', '/api/session', {
  tag: 'Sessions',
  summary: 'Sign in with an API key',
  description:
    'For browsers: the session is a cookie that scripts cannot read, and expires after 12 hours, or with the key.',
  access: 'anyone',
  signsIn: true,
  body: z
    .strictObject({ key: z.string().min(1, 'must not be empty').max(4_096, 'at most 4096 characters') })
    .meta({ id: 'SignInRequest' }),
  responses: {
    200: {
      description: 'The cookie',
      schema: z.object({ expires_at: z.iso.datetime() }).meta({ id: 'SignedIn' }),
    },
  },
  errors: ['unauthorized', 'too_many_requests'],
  async handle({ body, sourceIp }, { authenticator: { sessions }, guesses, publicUrl, clock, records }) {
    const session = await sessions?.withKey(body.key);
    if (session === undefined) {
      countGuess(guesses, sourceIp, body.key);
      throw new PortholeError('unauthorized', "That key isn't valid. Ask your administrator.");
    }
    const cookie = sessionSetCookie(session, publicUrl?.origin, clock.now());
    await auditSession(records.audit, await sessions?.authenticate(session.sealed), 'key');
    return json(200, { expires_at: session.expiresAt.toISOString() }, { ...NO_STORE, 'set-cookie': cookie });
  },
});

const signOutRoute = defineRoute('signOut', 'DELETE', '/api/session', {
  tag: 'Sessions',
  summary: 'Sign out of this browser',
  description: 'Ends the session everywhere. Copies of the cookie become invalid.',
  access: 'anyone',
  signsIn: true,
  responses: { 204: { description: 'The session has ended and its cookie is cleared' } },
  errors: ['service_unavailable'],
  async handle({ headers }, { authenticator: { sessions }, publicUrl, records }) {
    const name = sessionCookie(publicUrl?.origin);
    const sealed = cookieOf(headers['cookie'], name);
    if (sessions !== undefined && sealed !== undefined) {
      const person = await sessions.authenticate(sealed);
      await sessions.end(sealed);
      await auditSession(records.audit, person);
    }
    return {
      statusCode: 204,
      headers: { ...NO_STORE, 'set-cookie': setCookie(name, '', { sameSite: 'Strict', seconds: 0 }) },
    };
  },
});

export const signInRoutes = [getSignInRoute, getSessionRoute, signInRoute, signOutRoute];
