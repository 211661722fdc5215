import type { JWTVerifyGetKey } from 'jose';
import type { Person } from '#core/callers.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { onceOpen } from '#base/concurrency.ts';
import { discoverOidc, ISSUER_SECONDS, unavailable } from './oidc-discovery.ts';

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
  'ERR_JWKS_TIMEOUT',
  'ERR_JWKS_INVALID',
  'ERR_JOSE_GENERIC',
]);

/**
 * Verifies bearer tokens of one issuer. Its keys are discovered (OpenID Connect Discovery 1.0,
 * section 4) at the first token and cached. The user is `sub`. Throws `service_unavailable` when
 * the issuer is unreachable.
 */
export function createOidcVerifier(
  options: OidcOptions,
  clock: Clock,
): (token: string) => Promise<Person | undefined> {
  const findKeys = onceOpen(() => keysOf(options));
  return async (token) => {
    const { errors, jwtVerify } = await import('jose');
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
      return {
        kind: 'person',
        user: payload.sub,
        org,
        admin: payload[options.adminClaim] === true,
        issuer: options.issuer,
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

async function keysOf({ issuer, audience }: OidcOptions): Promise<JWTVerifyGetKey> {
  const { jwks_uri: url } = (
    await discoverOidc(issuer, { id: audience, secret: undefined })
  ).serverMetadata();
  if (url === undefined) throw new Error(`${issuer} has no jwks_uri`);
  const { createRemoteJWKSet } = await import('jose');
  return createRemoteJWKSet(new URL(url), { timeoutDuration: ISSUER_SECONDS * 1_000 });
}
