import { PATHS_HEADER } from '#protocol/guest/files-protocol.ts';
import type { Tokens } from '../auth/authenticator.ts';
import type { Caller } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { SandboxKey } from '../sandboxes/sandbox-records.ts';
import type { Clock, Ids } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { checkPath, delegatedPath, type DelegationRecord, type Grant } from './delegation-store.ts';

interface CreateDelegationDeps {
  readonly records: Pick<Records, 'delegations'>;
  readonly tokens: Pick<Tokens, 'signSandbox'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'delegation'>;
}

interface DelegationOptions {
  readonly grant: Grant;
  /** Milliseconds. */
  readonly ttl: number;
  readonly renewable: boolean;
  readonly label: string | null;
}

export interface IssuedDelegation {
  readonly delegation: DelegationRecord;
  /** The credential of the delegate. It is not stored. */
  readonly token: string;
}

/** Maximum live delegations of one sandbox. */
const MAX_DELEGATIONS = 100;

/**
 * Delegates a part of a sandbox.
 * @throws PortholeError `invalid_request` where the limits do not fit the scopes,
 * `too_many_delegations`
 */
export async function createDelegation(
  { records, tokens, clock, ids }: CreateDelegationDeps,
  { id, generation }: SandboxKey,
  { grant, ttl, renewable, label }: DelegationOptions,
): Promise<IssuedDelegation> {
  const now = clock.now();
  const delegation: DelegationRecord = {
    id: ids.delegation(),
    sandbox: { id, generation },
    grant: checkGrant(grant),
    label,
    renewable,
    ttl,
    createdAt: now,
    expiresAt: new Date(now.getTime() + ttl),
  };
  if (!(await records.delegations.create(delegation, MAX_DELEGATIONS))) {
    throw new PortholeError(
      'too_many_delegations',
      `Sandbox ${id} has ${MAX_DELEGATIONS} delegations, the maximum`,
      { remedy: 'revoke one, or let some expire.' },
    );
  }
  return { delegation, token: await credentialOf(tokens, delegation) };
}

/** @throws PortholeError `invalid_request` */
function checkGrant({ scopes, commands, paths }: Grant): Grant {
  if (commands !== null && !scopes.includes('exec')) {
    throw new PortholeError('invalid_request', 'commands: needs the scope exec, which is not requested', {
      remedy: 'leave them out, or add exec to scopes.',
    });
  }
  if (paths !== null && scopes.includes('exec')) {
    throw new PortholeError(
      'invalid_request',
      'paths: a command reaches every file of the sandbox, so paths cannot be combined with the scope exec: delegate one, or create two delegations.',
    );
  }
  return { scopes, commands, paths: paths === null ? null : [...new Set(paths.map(delegatedPath))] };
}

/**
 * Extends a delegation by its `ttl` from now on. The delegate's credential stays valid; the
 * returned one is signed with the current key.
 * @throws PortholeError `delegation_not_found`, also if expired; `delegation_not_renewable`
 */
export async function renewDelegation(
  { records: { delegations }, tokens, clock }: Omit<CreateDelegationDeps, 'ids'>,
  sandbox: SandboxKey,
  delegationId: string,
): Promise<IssuedDelegation> {
  const delegation = await delegations.renew(delegationId, sandbox, clock.now());
  if (delegation !== undefined) return { delegation, token: await credentialOf(tokens, delegation) };
  const known = (await delegations.list(sandbox, clock.now())).some(({ id }) => id === delegationId);
  if (!known) throw delegationNotFound(delegationId);
  throw new PortholeError('delegation_not_renewable', `Delegation ${delegationId} is not renewable`, {
    remedy: 'create another one.',
  });
}

export function delegationNotFound(id: string): PortholeError {
  return new PortholeError(
    'delegation_not_found',
    `This sandbox has no active delegation ${JSON.stringify(id.slice(0, 80))}: it expired, was revoked or never existed.`,
    { remedy: 'Create another one.' },
  );
}

function credentialOf(
  tokens: CreateDelegationDeps['tokens'],
  { id, sandbox }: DelegationRecord,
): Promise<string> {
  return tokens.signSandbox({
    sandboxId: sandbox.id,
    generation: sandbox.generation,
    by: { delegationId: id },
  });
}

type CallsGuest = Pick<Sandboxes, 'callGuest'>;

/**
 * Calls of guests for an operation on a path. If the delegation has a path list, the path is
 * checked as text here, and the guest gets the list to check symbolic links at the moment of use
 * (TOCTOU).
 * @throws PortholeError `forbidden`, and what `resolveWorkspacePath` throws
 */
export function delegatedGuests(provider: CallsGuest, caller: Caller, path: string): CallsGuest {
  const paths = caller.kind === 'delegate' ? caller.grant.paths : null;
  if (paths === null) return provider;
  checkPath(paths, resolveWorkspacePath(path, 'path'));
  const allowed = { [PATHS_HEADER]: headerOf(paths) };
  return {
    callGuest: (id, call, signal) =>
      provider.callGuest(id, { ...call, headers: { ...call.headers, ...allowed } }, signal),
  };
}

/** JSON in UTF-8, as header values accept bytes other than DEL (RFC 9110 §5.5). */
function headerOf(paths: readonly string[]): string {
  const json = JSON.stringify(paths).replaceAll('\x7f', '\\u007f');
  return Buffer.from(json).toString('latin1');
}
