import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { keyDigest } from '#core/auth/api-key-store.ts';
import type {
  EndedSessionRecords,
  EndedSignIn,
  SealedSession,
  Sessions,
  SignInAnswer,
  SignInProblem,
} from '#core/auth/sign-in.ts';
import type { Person, SessionRef } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { type Clock, later } from '#base/clock-and-ids.ts';
import type { OidcSignIn } from './oidc-sign-in.ts';
import type { Seals } from './sealed-texts.ts';

interface SealedSessionsOptions {
  readonly seals: Seals;
  readonly clock: Clock;
  /** Owners of the keys, by `keyDigest`. */
  readonly keys: ReadonlyMap<string, Person>;
  readonly oidc: OidcSignIn | undefined;
  readonly ended: EndedSessionRecords;
}

/** Session lifetime: one working day. */
const SESSION_MS = 12 * 3_600_000;
/** Browsers reject cookies of more than 4096 bytes, including the name. */
const MAX_SEALED_BYTES = 4_000;
/** Time limit for a sign-in at the identity provider. */
const SIGN_IN_MS = 10 * 60_000;

const Content = z.union([
  z.object({ key: z.string() }),
  z.object({
    person: z.object({ user: z.string(), org: z.string(), admin: z.boolean() }),
    provider: z.string(),
  }),
]);
const Envelope = z.object({
  jti: z.string(),
  /** Seconds since the epoch. */
  exp: z.number(),
});
const Begun = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  callback: z.string(),
  returnTo: z.string(),
});

/**
 * Sessions encrypted into a browser cookie. It holds the digest of an API key, or the user that the
 * provider authenticated.
 */
export function createSealedSessions({ seals, clock, keys, oidc, ended }: SealedSessionsOptions): Sessions {
  const session = async (content: z.infer<typeof Content>): Promise<SealedSession> => {
    const expiresAt = later(clock, SESSION_MS);
    const jti = randomBytes(16).toString('base64url');
    return { sealed: await seals.seal('porthole-session', { ...content, jti }, expiresAt), expiresAt };
  };
  const open = async (sealed: string): Promise<{ ref: SessionRef; content: object } | undefined> => {
    const content = await seals.open('porthole-session', sealed, clock.now());
    const { success, data } = Envelope.safeParse(content);
    if (content === undefined || !success) return undefined;
    return { ref: { id: data.jti, expiresAt: new Date(data.exp * 1_000) }, content };
  };
  /** Returns undefined when the key or the provider is no longer configured. */
  const personOf = (content: z.infer<typeof Content>): Person | undefined => {
    if ('key' in content) return keys.get(content.key);
    if (oidc === undefined || content.provider !== oidc.provider) return undefined;
    return { kind: 'person', ...content.person, issuer: oidc.issuer };
  };
  return {
    methods: [
      ...(keys.size > 0 ? (['key'] as const) : []),
      ...(oidc === undefined ? [] : (['oidc'] as const)),
    ],

    async withKey(key) {
      const digest = keyDigest(key);
      return keys.has(digest) ? session({ key: digest }) : undefined;
    },

    async beginOidc(callback, returnTo) {
      if (oidc === undefined) {
        throw new PortholeError('not_found', 'No identity provider is configured', {
          remedy: 'set OIDC_CLIENT_ID, or sign in with a key.',
        });
      }
      const { url, ...begun } = await oidc.begin(callback);
      const expiresAt = later(clock, SIGN_IN_MS);
      return {
        url,
        sealed: await seals.seal('porthole-sign-in', { ...begun, callback, returnTo }, expiresAt),
        expiresAt,
      };
    },

    async endOidc(sealed, answer): Promise<EndedSignIn> {
      const { success, data: begun } = Begun.safeParse(
        sealed && (await seals.open('porthole-sign-in', sealed, clock.now())),
      );
      if (oidc === undefined || !success) return { returnTo: '/', problem: 'expired' };
      const { returnTo } = begun;
      const problem = problemOf(answer, { state: begun.state, issuer: oidc.issuer });
      if (problem !== undefined || answer.code === undefined)
        return { returnTo, problem: problem ?? 'not_vouched' };
      const person = await oidc.end(answer, begun).catch((error: unknown) => {
        if (error instanceof PortholeError && error.code === 'service_unavailable') return error;
        throw error;
      });
      if (person instanceof PortholeError) return { returnTo, problem: 'unavailable' };
      if (person === undefined) return { returnTo, problem: 'not_vouched' };
      const { user, org, admin } = person;
      const made = await session({ person: { user, org, admin }, provider: oidc.provider });
      // A browser would reject the cookie, and the user would have to sign in again each time.
      if (made.sealed.length > MAX_SEALED_BYTES) return { returnTo, problem: 'not_vouched' };
      return { returnTo, session: made };
    },

    async authenticate(sealed) {
      const opened = await open(sealed);
      const { success, data } = Content.safeParse(opened?.content);
      if (opened === undefined || !success) return undefined;
      const person = personOf(data);
      if (person === undefined || (await ended.has(opened.ref.id))) return undefined;
      return { ...person, session: opened.ref };
    },

    async lasts({ id, expiresAt }) {
      return expiresAt > clock.now() && !(await ended.has(id));
    },

    async end(sealed) {
      const opened = await open(sealed);
      if (opened !== undefined) await ended.add(opened.ref.id, opened.ref.expiresAt);
    },
  };
}

/**
 * Validates an authorization response before the code is exchanged: `state` first (CSRF, RFC 6749
 * §10.12), then `iss` (RFC 9207), then the error.
 */
function problemOf(
  { state, iss, error }: SignInAnswer,
  begun: { readonly state: string; readonly issuer: string },
): SignInProblem | undefined {
  if (state !== begun.state) return 'mismatch';
  if (iss !== undefined && iss !== begun.issuer) return 'wrong_issuer';
  if (error !== undefined) return error === 'access_denied' ? 'denied' : 'provider_error';
  return undefined;
}

/** How a configuration names a key that it does not hold: by `sha256:` and its digest. */
const HASHED = 'sha256:';

/** The form of a key in which a configuration can keep it: it is no credential. */
export function hashedKey(key: string): string {
  return `${HASHED}${keyDigest(key)}`;
}

/** The digest of a key of the configuration, which is the key itself or its hashed form. */
export function configuredDigest(key: string): string {
  return key.startsWith(HASHED) ? key.slice(HASHED.length) : keyDigest(key);
}
