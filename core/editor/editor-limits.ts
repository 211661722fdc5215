import { createHash } from 'node:crypto';
import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type {
  DraftLock,
  DraftRecord,
  LockClaim,
  ToolRunError,
  ToolRunSummary,
  ToolSource,
} from './editor-store.ts';

/** Configured limits of the editor's runs. */
export interface EditorOptions {
  /** How long actions can follow a run, in milliseconds. */
  readonly snapshotTtlMs: number;
  /** Maximum size of a snapshot's payload as canonical JSON. */
  readonly snapshotMaxBytes: number;
  /** Maximum size of source and state of all unexpired snapshots of one owner. */
  readonly snapshotTotalBytes: number;
  /** How long a run is kept after its snapshot expires, in milliseconds. */
  readonly runRetentionMs: number;
  /** Timeout of one run, from its first line to its result, in milliseconds. */
  readonly runTimeoutMs: number;
  /** Memory limit of each process of a run, in MiB. */
  readonly runMemoryMebibytes: number;
}

/** Lifetime of a lock, and of each renewal, in milliseconds. */
export const LOCK_MS = 10 * 60_000;

/** The lock, if it is active at `now`. */
export function activeLock(lock: DraftLock | null, now: Date): DraftLock | undefined {
  return lock !== null && lock.expiresAt > now ? lock : undefined;
}

/** Whether the claim's token is that of the active lock. */
export function holdsLock({ lock }: Pick<DraftRecord, 'lock'>, { tokenSha256, at }: LockClaim): boolean {
  return activeLock(lock, at)?.tokenSha256 === tokenSha256;
}

/** The error for a caller without the lock: names its holder and its expiry. */
export function draftLocked(
  { toolId, lock }: Pick<DraftRecord, 'toolId' | 'lock'>,
  now: Date,
): PortholeError {
  const active = activeLock(lock, now);
  const route = `POST /api/v1/editor/tools/${toolId}/draft/lock`;
  if (active === undefined) {
    return new PortholeError('draft_locked', 'This draft is not locked.', {
      remedy: `Lock it with ${route}, and send the lock's token as Draft-Lock-Token.`,
    });
  }
  const { holder, expiresAt } = active;
  const until = expiresAt.toISOString();
  return new PortholeError('draft_locked', `The draft is locked by ${holder.user} until ${until}`, {
    remedy: `send the token of that lock as Draft-Lock-Token, or take the lock with ${route} once it is free.`,
    details: { holder: holder.user, expires_at: until },
  });
}

/** Context of a snapshot's session files and state; also the session key of its sandbox. */
export function sessionOf(snapshotId: string): string {
  return `sandbox:${snapshotId}`;
}

/** Tags of the editor's sandboxes for this person's tools. */
export function tagsOf({ org, user }: Owner): Readonly<Record<string, string>> {
  const key = createHash('sha256')
    .update(JSON.stringify([org, user]))
    .digest('hex');
  return { tool_owner: key.slice(0, 32) };
}

/** `function`, or `module:function`. */
export const ENTRYPOINT = /^(?:[A-Za-z_]\w{0,63}:)?[A-Za-z_$][\w$]{0,127}$/;

/** Entry point of a tool: the module of its code, and the function to call. */
interface Entrypoint {
  readonly module: string;
  readonly name: string;
}

/** @param entrypoint matches `ENTRYPOINT` */
export function readEntrypoint(entrypoint: string): Entrypoint {
  const [first = '', second] = entrypoint.split(':');
  return second === undefined ? { module: 'tool', name: first } : { module: first, name: second };
}

/** The error of a run when its process ended during the run. */
export const CUT_OFF: ToolRunError = {
  code: 'interrupted',
  message: 'The service stopped during the run: run again.',
  traceback: null,
};

/**
 * The run as of `now`: one past its deadline was interrupted, whether or not the records say so
 * yet.
 */
export function shownRun(run: ToolRunSummary, now: Date): ToolRunSummary {
  if (run.status !== 'running' || run.deadline > now) return run;
  return { ...run, status: 'failed', error: CUT_OFF, endedAt: run.deadline };
}

/** The source alone of a version, a draft or a snapshot. */
export function sourceOf(of: ToolSource): ToolSource {
  const { entrypoint, sourceCode, language, inputSchema, settingsSchema, usageInstructions } = of;
  return { entrypoint, sourceCode, language, inputSchema, settingsSchema, usageInstructions };
}
