import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { auditSession } from '#core/audit/audit-session.ts';
import { presentCause } from '#core/audit/present-cause.ts';
import { isLocalPath, MAX_LOCAL_PATH } from '#core/sandboxes/sandbox-owner.ts';
import { defineRoute, json } from '../route.ts';
import { cookieOf, sessionSetCookie, setCookie, signInCookie } from './session-cookie.ts';

const CALLBACK = '/api/session/oidc/callback';

/** Providers send only these characters back: RFC 6749, appendix A. */
const printable = (most: number) =>
  z
    .string()
    .regex(/^[\x20-\x7e]*$/, 'must be of printable ASCII characters')
    .max(most)
    .optional();

const startOidcRoute = defineRoute('startOidcSignIn', 'POST', '/api/session/oidc', {
  tag: 'Sessions',
  summary: 'Start sign-in at the identity provider',
  description:
    'The code flow of OpenID Connect with PKCE. The browser goes to `url`, and returns with a session.',
  access: 'anyone',
  signsIn: true,
  body: z
    .strictObject({
      return_to: z
        .string()
        .refine(isLocalPath, {
          error: `must be a path of this Porthole of at most ${MAX_LOCAL_PATH} characters, as /runs/abc`,
        })
        .default('/')
        .meta({ examples: ['/sandboxes'] })
        .describe('The page to return to'),
    })
    .meta({ id: 'BeginSignInRequest' }),
  responses: {
    200: {
      description: 'Where to go',
      schema: z.object({ url: z.string() }).meta({ id: 'BegunSignIn' }),
    },
  },
  errors: ['not_found', 'service_unavailable'],
  async handle({ body, headers }, { authenticator: { sessions }, publicUrl, clock }) {
    if (sessions?.methods.includes('oidc') !== true) {
      throw new PortholeError('not_found', 'No identity provider is configured', {
        remedy: 'set OIDC_CLIENT_ID, or sign in with a key.',
      });
    }
    const origin = publicUrl?.origin ?? `http://${headers['host'] ?? ''}`;
    const { url, sealed, expiresAt } = await sessions.beginOidc(`${origin}${CALLBACK}`, body.return_to);
    const seconds = Math.round((expiresAt.getTime() - clock.now().getTime()) / 1_000);
    return json(
      200,
      { url },
      {
        'cache-control': 'no-store',
        // Lax, not Strict: the redirect back comes from the provider's site, and browsers omit a
        // strict cookie there.
        'set-cookie': setCookie(signInCookie(publicUrl?.origin), sealed, { sameSite: 'Lax', seconds }),
      },
    );
  },
});

const oidcCallbackRoute = defineRoute('endOidcSignIn', 'GET', CALLBACK, {
  tag: 'Sessions',
  summary: 'Redirect target of the identity provider',
  access: 'anyone',
  signsIn: true,
  page: true,
  query: z.object({
    code: printable(4_096),
    state: printable(200),
    error: printable(200),
    iss: printable(2_000),
  }),
  responses: {
    302: {
      description: 'To the requested page: with a session, or with `?sign-in=` and the error',
    },
  },
  async handle({ query, headers }, services) {
    const { authenticator, publicUrl, clock, log, records, denied } = services;
    const { sessions } = authenticator;
    const begun = cookieOf(headers['cookie'], signInCookie(publicUrl?.origin));
    const ended = await sessions?.endOidc(begun, query);
    const { returnTo, session, problem } = ended ?? { returnTo: '/', problem: 'expired' };
    const away = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
    if (session === undefined) {
      denied.add({ operation: 'endOidcSignIn', code: problem, cause: presentCause() });
      log.info({ problem }, 'sign-in at the identity provider did not end with a session');
      return { statusCode: 302, headers: { ...away, location: withProblem(returnTo, problem) } };
    }
    const cookie = sessionSetCookie(session, publicUrl?.origin, clock.now());
    await auditSession(records.audit, await sessions?.authenticate(session.sealed), 'oidc');
    return { statusCode: 302, headers: { ...away, location: returnTo, 'set-cookie': cookie } };
  },
});

/** The requested page, which then shows the problem. */
function withProblem(path: string, problem: string): string {
  const url = new URL(path, 'http://porthole');
  url.searchParams.set('sign-in', problem);
  return `${url.pathname}${url.search}${url.hash}`;
}

export const oidcRoutes = [startOidcRoute, oidcCallbackRoute];
