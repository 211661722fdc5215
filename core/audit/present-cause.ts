import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceHeaders } from '#protocol/guest/trace-context.ts';
import { type Caller, LOCAL } from '../callers.ts';

/** Who changes something. */
export interface Actor {
  readonly kind: Caller['kind'] | 'visitor' | 'porthole';
  /** The user, the run of an agent, or the delegation; null: no name is known. */
  readonly id: string | null;
  readonly org: string | null;
  /** How it proved who it is, never the credential itself: `key:key_…`, `session`, `token`. */
  readonly credential: string | null;
}

/** What a change is done for: events repeat it. */
export interface Cause {
  readonly actor: Actor;
  /** The person for whom an agent or a delegate acts. */
  readonly onBehalfOf: string | null;
  readonly sourceIp: string | null;
  readonly requestId: string | null;
  readonly reason: string | null;
  /** The trace of the request; not stored. */
  readonly trace?: TraceHeaders | undefined;
}

const PORTHOLE: Cause = {
  actor: { kind: 'porthole', id: null, org: null, credential: null },
  onBehalfOf: null,
  sourceIp: null,
  requestId: null,
  reason: null,
};

const present = new AsyncLocalStorage<Cause>();

/** The cause of what happens now; Porthole itself outside of a request. */
export function presentCause(): Cause {
  return present.getStore() ?? PORTHOLE;
}

export function withCause<T>(cause: Cause, work: () => T): T {
  return present.run(cause, work);
}

/** Something that Porthole does by itself, for a reason. */
export function withReason<T>(reason: string, work: () => T): T {
  return present.run({ ...PORTHOLE, reason }, work);
}

/** @param caller undefined: someone without a credential */
export function actorOf(caller: Caller | undefined): Pick<Cause, 'actor' | 'onBehalfOf'> {
  if (caller === undefined)
    return { actor: { kind: 'visitor', id: null, org: null, credential: null }, onBehalfOf: null };
  const { kind } = caller;
  if (kind === 'agent') {
    const { runId, owner } = caller;
    return {
      actor: { kind, id: runId, org: owner?.org ?? null, credential: 'token' },
      onBehalfOf: owner?.user ?? null,
    };
  }
  if (kind === 'delegate') {
    const id = caller.delegationId ?? caller.sandboxId;
    return { actor: { kind, id, org: null, credential: 'token' }, onBehalfOf: null };
  }
  const { user, org, key, session } = caller;
  if (caller === LOCAL) return { actor: { kind, id: user, org, credential: null }, onBehalfOf: null };
  const credential = key !== undefined ? `key:${key.id}` : session === undefined ? 'token' : 'session';
  return { actor: { kind, id: user, org, credential }, onBehalfOf: null };
}
