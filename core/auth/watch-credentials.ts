import {
  type Agent,
  type Delegate,
  mayManage,
  mayReachSandbox,
  mayUseRun,
  type Person,
  type SessionRef,
  type SharedAccess,
  superiorOf,
} from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { WakingClock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { createWakeSignal } from '#base/wake-signal.ts';
import type { Sessions } from './sign-in.ts';

/**
 * Poll interval, in milliseconds, in case a notification is lost: a revoked credential must not
 * stay in use.
 */
const REPOLL_MS = 15_000;

/** Watches a credential while an operation that was started with it lasts. */
export interface WatchedCredential {
  /**
   * Aborted with `unauthorized` once the credential is no longer valid, or with the error if it
   * cannot be checked.
   */
  readonly signal: AbortSignal;
  /** Resolves after the first check: from then on the signal is reliable. */
  readonly firstCheck: Promise<void>;
  /** Ends the watch, when the operation is over. */
  close(): void;
}

interface WatchOptions {
  /** The known expiry; undefined once it is not valid. Null: valid until revoked. */
  readonly validUntil: () => Promise<Date | null | undefined>;
  /** Calls `notify` when validity may change; returns an unsubscribe. @default none */
  readonly watch?: (notify: () => void) => () => void;
  /** The reason with which the signal is aborted. */
  readonly over: () => Error;
}

/** Checks validity repeatedly until it ends. */
function watchWhileValid(
  clock: WakingClock,
  { validUntil, watch = () => () => undefined, over }: WatchOptions,
): WatchedCredential {
  const firstCheck = Promise.withResolvers<void>();
  const lapsed = new AbortController();
  const closed = new AbortController();
  const wakeSignal = createWakeSignal(clock, [closed.signal]);
  const unwatch = watch(wakeSignal.notify);
  const poll = async (): Promise<void> => {
    try {
      while (!closed.signal.aborted) {
        const until = await validUntil();
        if (until === undefined) throw over();
        firstCheck.resolve();
        const again = clock.now().getTime() + REPOLL_MS;
        await wakeSignal.until(new Date(until === null ? again : Math.min(until.getTime(), again)));
      }
    } finally {
      unwatch();
      wakeSignal.close();
    }
  };
  poll().catch((error: unknown) => {
    // Fail closed: if the records are unavailable, the credential may have been revoked.
    if (!closed.signal.aborted) lapsed.abort(error);
    firstCheck.resolve();
  });
  return { signal: lapsed.signal, firstCheck: firstCheck.promise, close: () => closed.abort() };
}

export interface WatchCredentialDeps {
  readonly records: {
    readonly apiKeys: Pick<Records['apiKeys'], 'get' | 'watch'>;
    readonly delegations: Pick<Records['delegations'], 'tokenVersion' | 'get' | 'watch'>;
    readonly runs: Pick<Records['runs'], 'get' | 'sharingIn'>;
    readonly sandboxes: Pick<Records['sandboxes'], 'get'>;
    readonly timeline: Pick<Records['timeline'], 'watch'>;
  };
  readonly clock: WakingClock;
}

/**
 * Watches the token of an agent while an operation that was started with it lasts, until it
 * expires or is rotated. The completion of its run cuts nothing: the agent reads of it in the
 * events of the run.
 */
export function watchAgent(
  { records: { runs, timeline }, clock }: WatchCredentialDeps,
  caller: Agent,
): WatchedCredential {
  const { runId, tokenVersion, expiresAt } = caller;
  return watchWhileValid(clock, {
    async validUntil() {
      const run = await runs.get(runId);
      if (run === undefined || run.tokenVersion !== (tokenVersion ?? run.tokenVersion)) return undefined;
      if (expiresAt === undefined) return null;
      return expiresAt > clock.now() ? expiresAt : undefined;
    },
    watch: (notify) => timeline.watch(runId, notify),
    over: () => noLongerValid(caller),
  });
}

/** Watches a delegate's credential while an operation that was started with it lasts. */
export function watchCredential(
  { records: { delegations }, clock }: WatchCredentialDeps,
  caller: Delegate,
): WatchedCredential {
  const { sandboxId, generation, delegationId, tokenVersion } = caller;
  return watchWhileValid(clock, {
    async validUntil() {
      if (delegationId === null) {
        const version = await delegations.tokenVersion({ id: sandboxId, generation });
        return version === tokenVersion ? null : undefined;
      }
      const delegation = await delegations.get(delegationId);
      return delegation !== undefined && delegation.expiresAt > clock.now()
        ? delegation.expiresAt
        : undefined;
    },
    watch: (ring) => delegations.watch(sandboxId, ring),
    over: () => noLongerValid(caller),
  });
}

function noLongerValid(caller: Agent | Delegate): PortholeError {
  return new PortholeError('unauthorized', 'This credential is no longer valid', {
    remedy: `ask ${superiorOf(caller)} for another.`,
  });
}

/** A person with a request that names something that its owner may share. */
export type Colleague = Person & { readonly via: SharedAccess };

/** Whether the person reaches the sandbox or run only because its owner shares it. */
export async function isColleague({ records }: WatchCredentialDeps, person: Colleague): Promise<boolean> {
  const { of, id } = person.via;
  const found = await (of === 'run' ? records.runs.get(id) : records.sandboxes.get(id));
  return found !== undefined && !mayManage(person, found);
}

/** Watches whether it is still shared while an operation of a guest lasts. */
export function watchSharing({ records, clock }: WatchCredentialDeps, person: Colleague): WatchedCredential {
  const { of, id } = person.via;
  return watchWhileValid(clock, {
    async validUntil() {
      if (of === 'run') {
        const run = await records.runs.get(id);
        return run !== undefined && mayUseRun(person, run, false) ? null : undefined;
      }
      const sandbox = await records.sandboxes.get(id);
      if (sandbox === undefined) return undefined;
      return (await mayReachSandbox({ records }, person, sandbox, false)) ? null : undefined;
    },
    watch: (notify) => (of === 'run' ? records.timeline.watch(id, notify) : () => undefined),
    over: () =>
      new PortholeError('forbidden', 'This is no longer shared with you', {
        remedy: `ask its owner to share the ${of} again.`,
      }),
  });
}

/**
 * Watches a browser session while an operation that was started with it lasts, until the session
 * expires or the person signs out.
 */
export function watchSession(
  { sessions, clock }: { readonly sessions: Pick<Sessions, 'lasts'>; readonly clock: WakingClock },
  session: SessionRef,
): WatchedCredential {
  return watchWhileValid(clock, {
    validUntil: async () => ((await sessions.lasts(session)) ? session.expiresAt : undefined),
    over: () => new PortholeError('unauthorized', 'This session has ended', { remedy: 'sign in again.' }),
  });
}

/** Watches a person's key while an operation that was started with it lasts. */
export function watchApiKey(
  { records: { apiKeys }, clock }: WatchCredentialDeps,
  { id }: NonNullable<Person['key']>,
): WatchedCredential {
  return watchWhileValid(clock, {
    async validUntil() {
      const key = await apiKeys.get(id);
      return key !== undefined && key.expiresAt > clock.now() ? key.expiresAt : undefined;
    },
    watch: (notify) => apiKeys.watch(id, notify),
    over: () =>
      new PortholeError('unauthorized', 'This key is no longer valid', {
        remedy: 'ask its maker for another.',
      }),
  });
}
