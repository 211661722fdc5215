import { PortholeError } from '#base/errors.ts';
import { type Owner, sameOwner } from '#base/clock-and-ids.ts';
import type { RunRecord, RunRecords } from './runs/run-records.ts';
import type { Sharing } from '#protocol/settings/shared-values.ts';
import type { SandboxRecord } from './sandboxes/sandbox-records.ts';
import type { Grant } from './delegations/delegation-store.ts';
import { isOfService } from './sandboxes/sandbox-owner.ts';
import type { Actor, Role } from './runs/timeline.ts';
import type { KeyScope } from './auth/api-key-store.ts';

/** The session that a browser showed. */
export interface SessionRef {
  readonly id: string;
  readonly expiresAt: Date;
}

/** A person, the service itself, or `local`: callers that may own objects. */
export interface Person {
  readonly kind: 'person';
  readonly user: string;
  readonly org: string;
  readonly admin: boolean;
  /** Absent if the caller used a key or a token. */
  readonly session?: SessionRef;
  /** When the caller's token or key expires; absent if the credential does not expire. */
  readonly expiresAt?: Date;
  /** The identity provider that vouches for the person; absent: the configuration does. */
  readonly issuer?: string;
  /** The key that the person made for a program; absent for any other credential. */
  readonly key?: { readonly id: string; readonly scope: KeyScope };
  /** How the request may reach what is shared; absent: the operation is for owners only. */
  readonly via?: SharedAccess;
}

/** The access that an operation needs in a shared run, and the run or sandbox of the request. */
export interface SharedAccess {
  readonly needs: Exclude<Sharing, 'private'>;
  readonly of: 'run' | 'sandbox';
  readonly id: string;
}

/** The agent of one run, by its callback token. */
export interface Agent {
  readonly kind: 'agent';
  readonly runId: string;
  readonly sandboxId: string;
  /** Owner of its run. */
  readonly owner?: Owner;
  /** When its token expires, unless its run ends first. */
  readonly expiresAt?: Date;
  /** As `RunRecord.tokenVersion`; absent for the token inside the sandbox, which has none. */
  readonly tokenVersion?: number;
}

/** A caller with a delegation from the sandbox's owner, or with the sandbox's own token. */
export interface Delegate {
  readonly kind: 'delegate';
  readonly sandboxId: string;
  readonly generation: number;
  readonly grant: Grant;
  /** Null for the sandbox's own token; `tokenVersion` is then its version. */
  readonly delegationId: string | null;
  readonly tokenVersion: number | null;
  /** Null: does not expire. */
  readonly expiresAt: Date | null;
}

export type Caller = Person | Agent | Delegate;

/** The caller of every request while no authentication is configured. */
export const LOCAL: Person = { kind: 'person', user: 'local', org: 'local', admin: true };

/** The caller of requests with `SANDBOX_API_KEY`. */
export const SERVICE: Person = { kind: 'person', user: 'service', org: 'service', admin: true };

export function ownerOf(person: Person): Owner {
  return { user: person.user, org: person.org };
}

/** @throws PortholeError `forbidden` for agents and delegates, which own nothing */
export function requirePerson(caller: Caller, action: string): Person {
  if (caller.kind === 'person') return caller;
  throw new PortholeError('forbidden', `${credentialOf(caller)} cannot ${action}`, {
    remedy: `ask ${superiorOf(caller)} to do it.`,
  });
}

/** The name of a caller's credential in messages. */
export function credentialOf(caller: Exclude<Caller, Person>): string {
  return caller.kind === 'agent' ? 'An agent token' : 'A credential for one sandbox';
}

/** The party to ask for an operation that this caller may not do. */
export function superiorOf(caller: Exclude<Caller, Person>): string {
  return caller.kind === 'agent'
    ? `the owner of run ${caller.runId}`
    : `the owner of sandbox ${caller.sandboxId}`;
}

/**
 * Whether the caller may act on the run: its owner, an admin, (where `agents`) the run's own agent,
 * or a person with whom it is shared, if the operation needs no more than that.
 */
export function mayUseRun(caller: Caller, run: RunRecord, agents: boolean): boolean {
  if (caller.kind === 'agent') return agents && caller.runId === run.id;
  if (caller.kind === 'delegate') return false;
  return mayManage(caller, run) || sharingAllows(caller, run.owner, run.sharing);
}

/** Whether the person belongs to the owner's organisation, and what is shared with it suffices. */
export function sharingAllows({ org, via }: Person, owner: Owner, sharing: Sharing): boolean {
  if (via === undefined || org !== owner.org) return false;
  return sharing === 'work' || sharing === via.needs;
}

/** What a caller may do in a run or a sandbox that it may use: everything, work, or view. */
export type Access = 'owner' | 'work' | 'view';

export function accessTo(run: Pick<RunRecord, 'owner' | 'sharing'>, caller: Caller): Access {
  if (caller.kind !== 'person') return 'work';
  if (mayManage(caller, run)) return 'owner';
  return run.sharing === 'work' ? 'work' : 'view';
}

/** Whether the person is the owner, or an admin. */
export function mayManage(person: Person, { owner }: { readonly owner: Owner }): boolean {
  return person.admin || sameOwner(person, owner);
}

/** The owner of the objects that a person lists; undefined for admins, who list all. */
export function listedOwner(person: Person): Owner | undefined {
  return person.admin ? undefined : ownerOf(person);
}

/** The actor that the run's timeline records: anyone but the owner by name. */
export function actorOn(run: RunRecord, caller: Caller): Actor {
  const by = roleOn(run, caller);
  return caller.kind === 'person' && by !== 'owner' ? { by, user: caller.user } : by;
}

/** What a permitted caller is to the run. */
export function roleOn(run: RunRecord, caller: Caller): Exclude<Role, 'traffic'> {
  if (caller.kind !== 'person') return 'agent';
  if (sameOwner(caller, run.owner)) return 'owner';
  return caller.admin ? 'admin' : 'member';
}

/** The performer of an action, as events of a sandbox name it. */
export function performerOf(caller: Caller): { readonly by: Caller['kind']; readonly user?: string } {
  return caller.kind === 'person' ? { by: 'person', user: caller.user } : { by: caller.kind };
}

/**
 * Whether the caller may act on the sandbox: its owner, an admin, its delegates, or (if `agents`)
 * the agent of its run. The route decides which actions. No caller may act on a sandbox of the
 * service itself: a pooled sandbox must be unused when it is taken.
 */
export function mayUseSandbox(caller: Caller, sandbox: SandboxRecord, agents: boolean): boolean {
  if (isOfService(sandbox)) return false;
  if (caller.kind === 'agent') return agents && caller.sandboxId === sandbox.id;
  if (caller.kind === 'delegate') {
    return caller.sandboxId === sandbox.id && caller.generation === sandbox.generation;
  }
  return mayManage(caller, sandbox);
}

/** Whether it may, also as a person with whom a run in the sandbox is shared. */
export async function mayReachSandbox(
  { records }: { readonly records: { readonly runs: Pick<RunRecords, 'sharingIn'> } },
  caller: Caller,
  sandbox: SandboxRecord,
  agents: boolean,
): Promise<boolean> {
  if (mayUseSandbox(caller, sandbox, agents)) return true;
  if (caller.kind !== 'person' || caller.via === undefined || isOfService(sandbox)) return false;
  const { id, owner } = sandbox;
  return caller.org === owner.org && sharingAllows(caller, owner, await records.runs.sharingIn(id, owner));
}

/** A sandbox is shared as its owner shares the runs in it. */
export async function accessToSandbox(
  { records }: { readonly records: { readonly runs: Pick<RunRecords, 'sharingIn'> } },
  caller: Caller,
  { id, owner }: Pick<SandboxRecord, 'id' | 'owner'>,
): Promise<Access> {
  const access = accessTo({ owner, sharing: 'private' }, caller);
  return access === 'view'
    ? accessTo({ owner, sharing: await records.runs.sharingIn(id, owner) }, caller)
    : access;
}

/** Whether the caller is the owner, not only an admin. */
export function ownsSandbox(caller: Caller, sandbox: Pick<SandboxRecord, 'owner'>): boolean {
  return caller.kind === 'person' && sameOwner(caller, sandbox.owner);
}
