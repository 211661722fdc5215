import { type ApiKeyRecord, isApiKey, keyDigest } from '#core/auth/api-key-store.ts';
import type { Authenticator, Tokens } from '#core/auth/authenticator.ts';
import { type Agent, type Delegate, LOCAL, type Person, SERVICE } from '#core/callers.ts';
import { WHOLE_GRANT } from '#core/delegations/delegation-store.ts';
import { type Clock, type Owner, sameOwner } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import { createOidcSignIn } from './oidc-sign-in.ts';
import { createOidcVerifier, type OidcOptions } from './oidc-verifier.ts';
import { configuredDigest, createSealedSessions } from './sealed-sessions.ts';
import type { Seals } from './sealed-texts.ts';

interface Verifying {
  readonly tokens: Tokens;
  readonly records: Records;
  readonly clock: Clock;
}

/** Authenticates agents of running runs by their tokens. Rejects all other credentials. */
interface AgentAuthenticator extends Authenticator {
  readonly withoutCredential: undefined;
  authenticate(credential: string): Promise<Agent | undefined>;
}

/**
 * @param inside whether calls come from inside sandboxes. Tokens issued for use inside are valid
 * only there
 */
export function createAgentAuthenticator({
  tokens,
  records,
  clock,
  inside,
}: Omit<Verifying, 'records'> & {
  readonly records: Pick<Records, 'runs'>;
  readonly inside: boolean;
}): AgentAuthenticator {
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

/**
 * The delegate with the credential of a delegation or with a sandbox token. Reads the records on
 * each call, so that a revocation on any instance takes effect everywhere.
 */
async function delegateOf(
  credential: string,
  { tokens, records: { delegations }, clock }: Verifying,
): Promise<Delegate | undefined> {
  const claims = await tokens.verifySandbox(credential);
  if (claims === undefined) return undefined;
  const { sandboxId, generation, by } = claims;
  const delegate = { kind: 'delegate', sandboxId, generation } as const;
  if (by.delegationId === undefined) {
    const tokenVersion = await delegations.tokenVersion({ id: sandboxId, generation });
    if (tokenVersion !== by.version) return undefined;
    return { ...delegate, grant: WHOLE_GRANT, delegationId: null, tokenVersion, expiresAt: null };
  }
  const delegation = await delegations.get(by.delegationId);
  if (delegation === undefined || delegation.expiresAt <= clock.now()) return undefined;
  const { sandbox, grant, id: delegationId, expiresAt } = delegation;
  if (sandbox.id !== sandboxId || sandbox.generation !== generation) return undefined;
  return { ...delegate, grant, delegationId, tokenVersion: null, expiresAt };
}

/** A key's last use is written this often, in milliseconds: not for each request. */
const USE_WRITTEN_EVERY_MS = 60_000;

/**
 * The person with a key that they made. Reads the records on each call and caches nothing, so that
 * a revocation on any instance takes effect everywhere at once.
 * @param makerOf the rights that the maker has now; undefined: none
 */
async function personOfKey(
  credential: string,
  makerOf: (key: ApiKeyRecord) => Person | undefined,
  { records: { apiKeys }, clock, unrecorded }: Pick<AuthenticatorOptions, 'records' | 'clock' | 'unrecorded'>,
): Promise<Person | undefined> {
  const now = clock.now();
  const record = await apiKeys.findByDigest(keyDigest(credential));
  if (record === undefined || record.expiresAt <= now) return undefined;
  const maker = makerOf(record);
  if (maker === undefined) return undefined;
  const { id, scope, lastUsedAt, expiresAt } = record;
  const notSince = new Date(now.getTime() - USE_WRITTEN_EVERY_MS);
  if (lastUsedAt === null || lastUsedAt <= notSince) {
    // A full disk must not refuse a key.
    await apiKeys.markUsed(id, now, notSince).catch(unrecorded);
  }
  return { ...maker, admin: maker.admin && record.admin, expiresAt, key: { id, scope } };
}

interface AuthenticatorOptions extends Verifying {
  readonly serviceKey: string | undefined;
  readonly apiKeys: Readonly<
    Record<string, { readonly user: string; readonly org: string; readonly admin: boolean }>
  >;
  readonly oidc:
    | (OidcOptions & {
        readonly client: { readonly id: string; readonly secret: string | undefined } | undefined;
      })
    | undefined;
  /** The use of a key could not be written. */
  readonly unrecorded: (error: unknown) => void;
  /** Encrypts browser sessions. Without it, there are no browser sessions. */
  readonly seals?: Seals | undefined;
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
  unrecorded,
}: AuthenticatorOptions): Authenticator {
  const byHash = new Map<string, Person>();
  for (const [key, person] of Object.entries(apiKeys))
    byHash.set(configuredDigest(key), { kind: 'person', ...person });
  if (serviceKey !== undefined) byHash.set(configuredDigest(serviceKey), SERVICE);
  const verifyOidc = oidc === undefined ? undefined : createOidcVerifier(oidc, clock);
  const isConfigured = byHash.size > 0 || oidc !== undefined;

  const agents = createAgentAuthenticator({ tokens, records, clock, inside: false });

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

  const withoutCredential = isConfigured ? undefined : LOCAL;
  const makerOf = ({ owner, issuer }: ApiKeyRecord): Person | undefined => {
    if (issuer === null)
      return configured(owner, [...byHash.values(), ...(withoutCredential ? [LOCAL] : [])]);
    return issuer === oidc?.issuer ? { kind: 'person', ...owner, admin: false, issuer } : undefined;
  };

  return {
    withoutCredential,
    sessions: isConfigured ? sessions : undefined,
    async authenticate(credential) {
      const agent = await agents.authenticate(credential);
      if (agent !== undefined) return agent;
      const known = byHash.get(keyDigest(credential));
      if (known !== undefined) return known;
      if (isApiKey(credential)) return personOfKey(credential, makerOf, { records, clock, unrecorded });
      if (!isToken(credential)) return undefined;
      return (await delegateOf(credential, { tokens, records, clock })) ?? (await verifyOidc?.(credential));
    },
  };
}

/** The person as the configuration has them now, with the rights of all of their keys there. */
function configured(owner: Owner, people: readonly Person[]): Person | undefined {
  const same = people.filter((person) => sameOwner(person, owner));
  return same.find(({ admin }) => admin) ?? same[0];
}
