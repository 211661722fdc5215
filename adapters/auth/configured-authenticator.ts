import { LOCAL, type Person, SERVICE } from '#core/callers.ts';
import type { Authenticator } from '#core/ports/authenticator.ts';
import type { Clock } from '#core/ports/clock.ts';
import type { Records } from '#core/ports/records.ts';
import type { Tokens } from '#core/ports/tokens.ts';
import { createAgentAuthenticator } from './agent-authenticator.ts';
import { createDelegateAuthenticator } from './delegate-authenticator.ts';
import type { Seals } from '../keys/seals.ts';
import { keyDigest } from './key-digest.ts';
import { createOidcSignIn } from './oidc-sign-in.ts';
import { createOidcVerifier, type OidcOptions } from './oidc-verifier.ts';
import { createSealedSessions } from './sealed-sessions.ts';

export interface AuthenticatorOptions {
  readonly serviceKey: string | undefined;
  readonly apiKeys: Readonly<
    Record<string, { readonly user: string; readonly org: string; readonly admin: boolean }>
  >;
  readonly oidc:
    | (OidcOptions & {
        readonly client: { readonly id: string; readonly secret: string | undefined } | undefined;
      })
    | undefined;
  /** For sessions of browsers; absent: there are none. */
  readonly seals?: Seals | undefined;
  readonly tokens: Tokens;
  readonly records: Records;
  readonly clock: Clock;
}

/**
 * Judges credentials: keys, then agent tokens and the credentials of sandboxes, then the tokens of the OpenID Connect issuer. Keys are looked up by their sha256, so that the time a look-up takes says
 * nothing about a key.
 */
export function createAuthenticator({
  serviceKey,
  apiKeys,
  oidc,
  seals,
  tokens,
  records,
  clock,
}: AuthenticatorOptions): Authenticator {
  const byHash = new Map<string, Person>();
  for (const [key, person] of Object.entries(apiKeys))
    byHash.set(keyDigest(key), { kind: 'person', ...person });
  if (serviceKey !== undefined) byHash.set(keyDigest(serviceKey), SERVICE);
  const verifyOidc = oidc === undefined ? undefined : createOidcVerifier(oidc, clock);
  const isConfigured = byHash.size > 0 || oidc !== undefined;

  const agents = createAgentAuthenticator({ tokens, records, clock, inside: false });
  const delegates = createDelegateAuthenticator({ tokens, records, clock });

  const sessions =
    seals === undefined
      ? undefined
      : createSealedSessions({
          seals,
          clock,
          keys: byHash,
          ended: records.endedSessions,
          oidc:
            oidc?.client === undefined
              ? undefined
              : createOidcSignIn({ ...oidc, client: oidc.client }, clock),
        });

  return {
    withoutCredential: isConfigured ? undefined : LOCAL,
    sessions: isConfigured ? sessions : undefined,
    async authenticate(credential) {
      const known = byHash.get(keyDigest(credential));
      if (known !== undefined) return known;
      // All kinds of token are JWTs, of three parts; anything else is not worth a signature check.
      if (credential.split('.', 4).length !== 3) return undefined;
      return (
        (await agents.authenticate(credential)) ??
        (await delegates.authenticate(credential)) ??
        (await verifyOidc?.(credential))
      );
    },
  };
}
