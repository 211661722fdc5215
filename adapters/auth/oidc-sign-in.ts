import { createHash } from 'node:crypto';
import type { Configuration } from 'openid-client';
import type { SignInAnswer } from '#core/auth/sign-in.ts';
import type { Person } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { discoverOidc, type OidcClient, unavailable } from './oidc-discovery.ts';
import { createOidcVerifier, type OidcOptions } from './oidc-verifier.ts';

export interface OidcSignInOptions extends OidcOptions {
  readonly client: OidcClient;
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
  end(
    answer: SignInAnswer,
    begun: SignInSecrets & { readonly callback: string },
  ): Promise<Person | undefined>;
}

/**
 * How long issuer metadata is cached, in milliseconds. Without a cache, each unauthenticated
 * sign-in attempt causes a request to the issuer.
 */
const KNOWN_MS = 600_000;

export function createOidcSignIn(options: OidcSignInOptions, clock: Clock): OidcSignIn {
  const { issuer, client, orgClaim, adminClaim } = options;
  const library = () => import('openid-client');
  let known: { readonly until: Date; readonly issuer: Promise<Configuration> } | undefined;
  const discover = async () => {
    const now = clock.now();
    if (known === undefined || known.until <= now) {
      const asked = { until: new Date(now.getTime() + KNOWN_MS), issuer: discoverOidc(issuer, client) };
      known = asked;
      asked.issuer.catch(() => {
        // Do not cache a failure: the issuer may recover.
        if (known === asked) known = undefined;
      });
    }
    try {
      return await known.issuer;
    } catch (cause) {
      throw unavailable(issuer, cause);
    }
  };
  const verify = createOidcVerifier({ ...options, audience: client.id }, clock);
  return {
    issuer,
    provider: createHash('sha256')
      .update(JSON.stringify([issuer, client.id, orgClaim, adminClaim]))
      .digest('base64url'),

    async begin(callback) {
      const configuration = await discover();
      if (configuration.serverMetadata().authorization_endpoint === undefined)
        throw unavailable(issuer, new Error('it has no authorization_endpoint'));
      const oidc = await library();
      const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
      const verifier = oidc.randomPKCECodeVerifier();
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: callback,
        scope: 'openid profile email',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, state, nonce, verifier };
    },

    async end(answer, { state, nonce, verifier, callback }) {
      const configuration = await discover();
      const oidc = await library();
      const came = new URL(callback);
      for (const [name, value] of Object.entries<string | undefined>({ ...answer }))
        if (value !== undefined) came.searchParams.set(name, value);
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, came, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        // OpenID Connect Core 1.0 §3.1.3.7: the library checks it only for several audiences.
        const azp = tokens.claims()?.azp;
        if (azp !== undefined && azp !== client.id) return undefined;
        return await verify(tokens.id_token ?? '');
      } catch (error) {
        if (isRejection(error, oidc)) return undefined;
        throw error instanceof PortholeError ? error : unavailable(issuer, error);
      }
    },
  };
}

/** Whether the issuer, or a check of its response, rejects this sign-in. */
function isRejection(error: unknown, oidc: typeof import('openid-client')): boolean {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.WWWAuthenticateChallengeError)
    return error.status < 500;
  if (!(error instanceof oidc.ClientError)) return false;
  if (error.cause instanceof Response) return error.cause.status < 500;
  return error.code !== undefined && error.code !== 'OAUTH_TIMEOUT';
}
