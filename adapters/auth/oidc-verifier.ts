import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import type { Clock } from '#core/ports/clock.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly orgClaim: string;
  readonly adminClaim: string;
}

/** Asymmetric algorithms only: with a symmetric one, whoever can verify could also sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const DISCOVERY_MS = 5_000;
/** Its keys cannot be had: too late, not at all (jose has no code of its own for an answer that is not 200), or not as a key set. */
const ISSUER_AT_FAULT: ReadonlySet<string> = new Set([
  errors.JWKSTimeout.code,
  errors.JWKSInvalid.code,
  errors.JOSEError.code,
]);

/**
 * Verifies bearer tokens of one issuer; its keys are discovered (OpenID Connect Discovery 1.0, section 4) at the first token and cached.
 * The user is `sub`. Throws `service_unavailable` when the issuer cannot be asked, which is not the caller's fault.
 */
export function createOidcVerifier(
  options: OidcOptions,
  clock: Clock,
): (token: string) => Promise<Caller | undefined> {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const findKeys = () => {
    keys ??= discover(options.issuer).catch((error: unknown) => {
      // Not kept: the issuer may be back for the next token.
      keys = undefined;
      throw error;
    });
    return keys;
  };
  return async (token) => {
    let getKey: JWTVerifyGetKey;
    try {
      getKey = await findKeys();
    } catch (cause) {
      throw unavailable(options.issuer, cause);
    }
    try {
      const { payload } = await jwtVerify(token, getKey, {
        issuer: options.issuer,
        audience: options.audience,
        algorithms: ALGORITHMS,
        currentDate: clock.now(),
        requiredClaims: ['sub', 'exp'],
      });
      const org = payload[options.orgClaim];
      if (payload.sub === undefined || payload.sub === '' || typeof org !== 'string' || org === '')
        return undefined;
      return { kind: 'person', user: payload.sub, org, admin: payload[options.adminClaim] === true };
    } catch (error) {
      if (!(error instanceof errors.JOSEError) || ISSUER_AT_FAULT.has(error.code))
        throw unavailable(options.issuer, error);
      return undefined;
    }
  };
}

async function discover(issuer: string): Promise<JWTVerifyGetKey> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(DISCOVERY_MS), redirect: 'error' });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (document.issuer !== issuer || typeof document.jwks_uri !== 'string') {
    throw new Error(`${url} does not describe the issuer ${issuer}`);
  }
  return createRemoteJWKSet(new URL(document.jwks_uri), { timeoutDuration: DISCOVERY_MS });
}

function unavailable(issuer: string, cause: unknown): PortholeError {
  return new PortholeError(
    'service_unavailable',
    `The identity provider ${issuer} cannot be asked right now: try again.`,
    { cause },
  );
}
