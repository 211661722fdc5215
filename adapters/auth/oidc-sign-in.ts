import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Person } from '#core/callers.ts';
import type { Clock } from '#core/shared/clock-and-ids.ts';
import { boundedJson, DISCOVERY_MS, discoverOidc } from './oidc-discovery.ts';
import { createOidcVerifier, type OidcOptions, unavailable } from './oidc-verifier.ts';

export interface OidcSignInOptions extends OidcOptions {
  readonly client: { readonly id: string; readonly secret: string | undefined };
}

/** Secrets kept between the redirect to the issuer and its callback. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Sign-in at an OpenID Connect issuer: authorization code flow with PKCE (RFC 7636). */
export interface OidcSignIn {
  readonly issuer: string;
  /**
   * Hash of the issuer, the client and the claim names. Sessions of another provider are rejected.
   */
  readonly provider: string;
  /** @throws PortholeError `service_unavailable` */
  begin(callback: string): Promise<SignInSecrets & { readonly url: string }>;
  /**
   * Returns undefined when the issuer rejects the code or its token is invalid.
   * @throws PortholeError `service_unavailable`
   */
  end(code: string, begun: SignInSecrets & { readonly callback: string }): Promise<Person | undefined>;
}

/**
 * How long issuer metadata is cached, in milliseconds. Without a cache, each unauthenticated
 * sign-in attempt causes a request to the issuer.
 */
const KNOWN_MS = 600_000;

const Answer = z.object({ id_token: z.string().max(65_536) });

export function createOidcSignIn(options: OidcSignInOptions, clock: Clock): OidcSignIn {
  const { issuer, client, orgClaim, adminClaim } = options;
  let known: { readonly until: Date; readonly document: ReturnType<typeof discoverOidc> } | undefined;
  const discover = () => {
    const now = clock.now();
    if (known === undefined || known.until <= now) {
      const asked = { until: new Date(now.getTime() + KNOWN_MS), document: discoverOidc(issuer) };
      known = asked;
      asked.document.catch(() => {
        // Do not cache a failure: the issuer may recover.
        if (known === asked) known = undefined;
      });
    }
    return known.document;
  };
  const verify = createOidcVerifier({ ...options, audience: client.id }, clock);
  const ask = async <T>(question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (cause) {
      throw unavailable(issuer, cause);
    }
  };
  return {
    issuer,
    provider: createHash('sha256')
      .update(JSON.stringify([issuer, client.id, orgClaim, adminClaim]))
      .digest('base64url'),

    async begin(callback) {
      const { authorization_endpoint: endpoint } = await ask(discover);
      if (endpoint === undefined) throw unavailable(issuer, new Error('it has no authorization_endpoint'));
      const [state, nonce, verifier] = [secret(), secret(), secret()];
      const url = new URL(endpoint);
      for (const [name, value] of Object.entries({
        response_type: 'code',
        client_id: client.id,
        redirect_uri: callback,
        scope: 'openid profile email',
        state,
        nonce,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      })) {
        url.searchParams.set(name, value);
      }
      return { url: url.href, state, nonce, verifier };
    },

    async end(code, { nonce, verifier, callback }) {
      const response = await ask(async () => {
        const { token_endpoint: endpoint } = await discover();
        if (endpoint === undefined) throw new Error('it has no token_endpoint');
        return fetch(endpoint, {
          method: 'POST',
          signal: AbortSignal.timeout(DISCOVERY_MS),
          redirect: 'error',
          headers: client.secret === undefined ? {} : { authorization: basic(client.id, client.secret) },
          body: new URLSearchParams({
            grant_type: 'authorization_code',
            code,
            redirect_uri: callback,
            client_id: client.id,
            code_verifier: verifier,
          }),
        });
      });
      if (response.status >= 500) throw unavailable(issuer, new Error(`it answered ${response.status}`));
      if (!response.ok) return undefined;
      const { success, data } = Answer.safeParse(await boundedJson(response).catch(() => undefined));
      return success ? verify(data.id_token, nonce) : undefined;
    },
  };
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

/** RFC 6749 section 2.3.1: both are form-encoded first. */
function basic(id: string, password: string): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`).toString('base64')}`;
}
