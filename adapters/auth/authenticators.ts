import type { Authenticator, Tokens } from '#core/auth/authenticator.ts';
import { type Agent, type Delegate, LOCAL, type Person, SERVICE } from '#core/callers.ts';
import { WHOLE_GRANT } from '#core/delegations/delegation-store.ts';
import type { Clock } from '#core/shared/clock-and-ids.ts';
import type { Records } from '#core/shared/records.ts';
import { createOidcSignIn } from './oidc-sign-in.ts';
import { createOidcVerifier, type OidcOptions } from './oidc-verifier.ts';
import { configuredDigest, createSealedSessions, keyDigest } from './sealed-sessions.ts';
import type { Seals } from './sealed-texts.ts';

interface AgentAuthenticatorOptions {
  readonly tokens: Tokens;
  readonly records: Pick<Records, 'runs'>;
  readonly clock: Clock;
  /**
   * Whether calls come from inside sandboxes. Tokens issued for use inside are valid only there.
   */
  readonly inside: boolean;
}

/** Authenticates agents of running runs by their tokens. Rejects all other credentials. */
interface AgentAuthenticator extends Authenticator {
  readonly withoutCredential: undefined;
  authenticate(credential: string): Promise<Agent | undefined>;
}

export function createAgentAuthenticator({
  tokens,
  records,
  clock,
  inside,
}: AgentAuthenticatorOptions): AgentAuthenticator {
  return {
    withoutCredential: undefined,
    async authenticate(credential) {
      if (!isToken(credential)) return undefined;
      const claims = await tokens.verifyAgent(credential, clock.now());
      if (claims === undefined || (claims.inside && !inside)) return undefined;
      const run = await records.runs.get(claims.runId);
      if (run?.status !== 'running') return undefined;
      const { id: runId, sandboxId, owner, tokenVersion } = run;
      const agent = { kind: 'agent' as const, runId, sandboxId, owner, expiresAt: claims.expiresAt };
      if (claims.inside) return agent;
      return (claims.version ?? 0) === tokenVersion ? { ...agent, tokenVersion } : undefined;
    },
  };
}

/** All kinds of token are JWTs with three parts: anything else needs no signature check. */
function isToken(credential: string): boolean {
  return credential.split('.', 4).length === 3;
}

interface DelegateAuthenticatorOptions {
  readonly tokens: Tokens;
  readonly records: Pick<Records, 'delegations'>;
  readonly clock: Clock;
}

/** Authenticates delegates by the credential of a delegation or by a sandbox token. */
interface DelegateAuthenticator extends Authenticator {
  readonly withoutCredential: undefined;
  authenticate(credential: string): Promise<Delegate | undefined>;
}

/** Reads the records on each call, so that a revocation on any instance takes effect everywhere. */
function createDelegateAuthenticator({
  tokens,
  records: { delegations },
  clock,
}: DelegateAuthenticatorOptions): DelegateAuthenticator {
  return {
    withoutCredential: undefined,
    async authenticate(credential) {
      const claims = await tokens.verifySandbox(credential);
      if (claims === undefined) return undefined;
      const { sandboxId, generation, by } = claims;
      if (by.delegationId === undefined) {
        const version = await delegations.tokenVersion({ id: sandboxId, generation });
        if (version !== by.version) return undefined;
        return {
          kind: 'delegate',
          sandboxId,
          generation,
          grant: WHOLE_GRANT,
          delegationId: null,
          tokenVersion: version,
          expiresAt: null,
        };
      }
      const delegation = await delegations.get(by.delegationId);
      if (delegation === undefined || delegation.expiresAt <= clock.now()) return undefined;
      const { sandbox, grant, id, expiresAt } = delegation;
      if (sandbox.id !== sandboxId || sandbox.generation !== generation) return undefined;
      return {
        kind: 'delegate',
        sandboxId,
        generation,
        grant,
        delegationId: id,
        tokenVersion: null,
        expiresAt,
      };
    },
  };
}

interface AuthenticatorOptions {
  readonly serviceKey: string | undefined;
  readonly apiKeys: Readonly<
    Record<string, { readonly user: string; readonly org: string; readonly admin: boolean }>
  >;
  readonly oidc:
    | (OidcOptions & {
        readonly client: { readonly id: string; readonly secret: string | undefined } | undefined;
      })
    | undefined;
  /** Encrypts browser sessions. Without it, there are no browser sessions. */
  readonly seals?: Seals | undefined;
  readonly tokens: Tokens;
  readonly records: Records;
  readonly clock: Clock;
}

/**
 * Authenticates credentials: agent tokens, then keys, sandbox credentials and tokens of the OpenID
 * Connect issuer. Agents call most often. Keys are looked up by their SHA-256 digest, so that the
 * duration of a look-up reveals nothing about a key.
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
    byHash.set(configuredDigest(key), { kind: 'person', ...person });
  if (serviceKey !== undefined) byHash.set(configuredDigest(serviceKey), SERVICE);
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
      const agent = await agents.authenticate(credential);
      if (agent !== undefined) return agent;
      const known = byHash.get(keyDigest(credential));
      if (known !== undefined) return known;
      if (!isToken(credential)) return undefined;
      return (await delegates.authenticate(credential)) ?? (await verifyOidc?.(credential));
    },
  };
}
