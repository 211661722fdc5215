import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { defineRoute, json } from '../route.ts';
import { cookieOf, sessionCookie, setCookie, signInCookie } from './session-cookie.ts';

const CALLBACK = '/api/session/oidc/callback';

export const startOidcRoute = defineRoute({
  id: 'startOidcSignIn',
  method: 'POST',
  path: '/api/session/oidc',
  tag: 'Sessions',
  summary: 'Begin to sign in at the identity provider',
  description:
    'The code flow of OpenID Connect with PKCE. The browser goes to `url`, and comes back with a session.',
  access: 'anyone',
  signsIn: true,
  responses: {
    200: {
      description: 'Where to go',
      schema: z.object({ url: z.string() }).meta({ id: 'BegunSignIn' }),
    },
  },
  errors: ['not_found', 'service_unavailable'],
  async handle({ headers }, { authenticator: { sessions }, publicUrl, clock }) {
    if (sessions?.methods.includes('oidc') !== true) {
      throw new PortholeError(
        'not_found',
        'There is no identity provider to sign in at: set OIDC_CLIENT_ID, or sign in with a key.',
      );
    }
    const origin = publicUrl?.origin ?? `http://${headers['host'] ?? ''}`;
    const { url, sealed, expiresAt } = await sessions.beginOidc(`${origin}${CALLBACK}`);
    const seconds = Math.round((expiresAt.getTime() - clock.now().getTime()) / 1_000);
    return json(
      200,
      { url },
      {
        'cache-control': 'no-store',
        // The way back begins at the provider's site: a strict one would stay behind.
        'set-cookie': setCookie(signInCookie(publicUrl?.origin), sealed, { sameSite: 'Lax', seconds }),
      },
    );
  },
});

export const oidcCallbackRoute = defineRoute({
  id: 'endOidcSignIn',
  method: 'GET',
  path: CALLBACK,
  tag: 'Sessions',
  summary: 'Where the identity provider sends people back to',
  access: 'anyone',
  signsIn: true,
  page: true,
  query: z.object({
    code: z.string().max(4_096).optional(),
    state: z.string().max(200).optional(),
    error: z.string().max(200).optional(),
  }),
  responses: { 302: { description: 'To the console, with a session, or to sign in again' } },
  errors: ['service_unavailable'],
  async handle({ query: { code, state }, headers }, { authenticator: { sessions }, publicUrl, clock }) {
    const begun = cookieOf(headers['cookie'], signInCookie(publicUrl?.origin));
    const session =
      begun === undefined || code === undefined || state === undefined
        ? undefined
        : await sessions?.endOidc(begun, { code, state });
    const away = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
    if (session === undefined) {
      return { statusCode: 302, headers: { ...away, location: '/?sign-in=failed' } };
    }
    const seconds = Math.round((session.expiresAt.getTime() - clock.now().getTime()) / 1_000);
    const cookie = setCookie(sessionCookie(publicUrl?.origin), session.sealed, {
      sameSite: 'Strict',
      seconds,
    });
    return { statusCode: 302, headers: { ...away, location: '/', 'set-cookie': cookie } };
  },
});
