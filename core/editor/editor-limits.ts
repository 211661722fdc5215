import { createHash } from 'node:crypto';
import { PortholeError } from '../errors.ts';
import type { Owner } from '../shared/clock-and-ids.ts';
import type { DraftLock, DraftRecord, LockClaim, ToolRunError, ToolRunSummary } from './editor-store.ts';

/** What the editor's runs are held to, as configured. */
export interface EditorOptions {
  /** For how long actions may follow a run, in milliseconds. */
  readonly snapshotTtlMs: number;
  /** Of a snapshot's payload as canonical JSON. */
  readonly snapshotMaxBytes: number;
  /** Of source and state of all snapshots of one owner that are not over. */
  readonly snapshotTotalBytes: number;
  /** For how long a run is kept once its snapshot is over, in milliseconds. */
  readonly runRetentionMs: number;
  /** Of one run, from its first line to its result, in milliseconds. */
  readonly runTimeoutMs: number;
  /** Of each process of a run, in MiB. */
  readonly runMemoryMebibytes: number;
}

/** How long a lock is good for, and each renewal of it, in milliseconds. */
export const LOCK_MS = 10 * 60_000;

/** The lock that somebody holds at `now`. */
export function activeLock(lock: DraftLock | null, now: Date): DraftLock | undefined {
  return lock !== null && lock.expiresAt > now ? lock : undefined;
}

/** Whether the claim is good: its token is that of the lock, which is not over. */
export function holdsLock({ lock }: Pick<DraftRecord, 'lock'>, { tokenSha256, at }: LockClaim): boolean {
  return activeLock(lock, at)?.tokenSha256 === tokenSha256;
}

/** Why somebody who does not hold the lock may not go on: who does, and until when. */
export function draftLocked(
  { toolId, lock }: Pick<DraftRecord, 'toolId' | 'lock'>,
  now: Date,
): PortholeError {
  const active = activeLock(lock, now);
  const route = `POST /api/v1/editor/tools/${toolId}/draft/lock`;
  if (active === undefined) {
    return new PortholeError(
      'draft_locked',
      `You do not hold the lock of this draft, and nobody else does: take it with ${route}, and send its token as Draft-Lock-Token.`,
    );
  }
  const { holder, expiresAt } = active;
  const until = expiresAt.toISOString();
  return new PortholeError(
    'draft_locked',
    `The draft is locked by ${holder.user} until ${until}: send the token of that lock as Draft-Lock-Token, or take the lock with ${route} once it is free.`,
    { details: { holder: holder.user, expires_at: until } },
  );
}

/**
 * Whose the sandboxes are that the editor runs tools in: the service's own, which count against
 * nobody's quota and show in nobody's list.
 */
export const EDITOR_OWNER: Owner = { user: 'editor', org: '' };

/** The context of a snapshot's session files and state; also the session key of its sandbox. */
export function sessionOf(snapshotId: string): string {
  return `sandbox:${snapshotId}`;
}

/** Marks a sandbox of the editor as one of this person's tools. */
export function tagsOf({ org, user }: Owner): Readonly<Record<string, string>> {
  const key = createHash('sha256')
    .update(JSON.stringify([org, user]))
    .digest('hex');
  return { tool_owner: key.slice(0, 32) };
}

/** `function`, or `module:function`. */
export const ENTRYPOINT = /^(?:[A-Za-z_]\w{0,63}:)?[A-Za-z_$][\w$]{0,127}$/;

/** Where a tool begins: in which module its code is put, and the function of it that is called. */
interface Entrypoint {
  readonly module: string;
  readonly name: string;
}

/** @param entrypoint of that form */
export function readEntrypoint(entrypoint: string): Entrypoint {
  const [first = '', second] = entrypoint.split(':');
  return second === undefined ? { module: 'tool', name: first } : { module: first, name: second };
}

/** Of a run whose process ended in the middle of it. */
export const CUT_OFF: ToolRunError = {
  code: 'interrupted',
  message: 'The service ended in the middle of it: run again.',
  traceback: null,
};

/**
 * The run as it counts at `now`: one that should have ended long ago was cut off, whether somebody
 * has written that down yet or not.
 */
export function shownRun(run: ToolRunSummary, now: Date): ToolRunSummary {
  if (run.status !== 'running' || run.deadline > now) return run;
  return { ...run, status: 'failed', error: CUT_OFF, endedAt: run.deadline };
}
