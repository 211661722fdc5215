import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Person } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import type { Clock } from '#core/shared/clock-and-ids.ts';
import { DISCOVERY_MS, discoverOidc } from './oidc-discovery.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly orgClaim: string;
  readonly adminClaim: string;
}

/** Asymmetric algorithms only: with a symmetric one, every verifier could also sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/**
 * The issuer's keys are unavailable: timeout, failed request (jose has no separate code for a
 * status other than 200), or an invalid key set.
 */
const ISSUER_AT_FAULT: ReadonlySet<string> = new Set([
  errors.JWKSTimeout.code,
  errors.JWKSInvalid.code,
  errors.JOSEError.code,
]);

/**
 * Verifies bearer tokens of one issuer. Its keys are discovered (OpenID Connect Discovery 1.0,
 * section 4) at the first token and cached. The user is `sub`. With a `nonce`, the token must be
 * for this sign-in. Throws `service_unavailable` when the issuer is unreachable.
 */
export function createOidcVerifier(
  options: OidcOptions,
  clock: Clock,
): (token: string, nonce?: string) => Promise<Person | undefined> {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const findKeys = () => {
    keys ??= keysOf(options.issuer).catch((error: unknown) => {
      // Do not cache a failure: the issuer may recover.
      keys = undefined;
      throw error;
    });
    return keys;
  };
  return async (token, nonce) => {
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
      if (nonce !== undefined && !isForSignIn(payload, nonce, options.audience)) return undefined;
      const org = payload[options.orgClaim];
      if (payload.sub === undefined || payload.sub === '' || typeof org !== 'string' || org === '')
        return undefined;
      return {
        kind: 'person',
        user: payload.sub,
        org,
        admin: payload[options.adminClaim] === true,
        // `exp` is required above.
        expiresAt: new Date((payload.exp ?? 0) * 1_000),
      };
    } catch (error) {
      if (!(error instanceof errors.JOSEError) || ISSUER_AT_FAULT.has(error.code))
        throw unavailable(options.issuer, error);
      return undefined;
    }
  };
}

/**
 * OpenID Connect Core 1.0, section 3.1.3.7: `nonce` must match. `azp` must be this client where it
 * is present or there are several audiences.
 */
function isForSignIn(payload: JWTPayload, nonce: string, client: string): boolean {
  if (payload['nonce'] !== nonce) return false;
  const { azp } = payload;
  return azp === undefined ? !Array.isArray(payload.aud) || payload.aud.length === 1 : azp === client;
}

async function keysOf(issuer: string): Promise<JWTVerifyGetKey> {
  const { jwks_uri: url } = await discoverOidc(issuer);
  return createRemoteJWKSet(new URL(url), { timeoutDuration: DISCOVERY_MS });
}

/** The error for an issuer that fails or is unreachable. */
export function unavailable(issuer: string, cause: unknown): PortholeError {
  return new PortholeError(
    'service_unavailable',
    `The identity provider ${issuer} cannot be asked right now: try again.`,
    { cause },
  );
}
