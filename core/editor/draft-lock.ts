import { createHash, randomBytes } from 'node:crypto';
import { type Caller, ownerOf } from '../callers.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { DraftLock, LockClaim } from './editor-store.ts';
import { base32 } from '../previews/preview-token.ts';
import { activeLock, draftLocked, LOCK_MS } from './editor-limits.ts';
import { findDraft, type FindToolDeps, toolNotFound } from './find-tool.ts';

export interface DraftLockDeps extends FindToolDeps {
  readonly clock: Clock;
}

/** A lock with its token, returned once: the records store only the hash. */
export interface TakenLock {
  readonly token: string;
  readonly lock: DraftLock;
}

/**
 * Takes the lock of a tool's draft. Its token lets the holder change the draft, run it and start
 * actions. Of concurrent callers one gets it. An active lock is kept unless `takeOver`: then its
 * own holder gets a new token that replaces the old one, and an admin can take any lock.
 * @throws PortholeError `tool_not_found`, `draft_locked`
 */
export async function takeDraftLock(
  deps: DraftLockDeps,
  caller: Caller,
  toolId: string,
  { takeOver = false }: { readonly takeOver?: boolean } = {},
): Promise<TakenLock> {
  const { person } = await findDraft(deps, caller, toolId);
  const now = deps.clock.now();
  const token = `dlk_${base32(randomBytes(16))}`;
  const lock: DraftLock = {
    holder: ownerOf(person),
    tokenSha256: hashOf(token),
    expiresAt: new Date(now.getTime() + LOCK_MS),
  };
  const over = person.admin ? 'any' : 'own';
  const existing = await deps.records.drafts.takeLock(toolId, lock, now, takeOver ? over : undefined);
  if (existing?.tokenSha256 !== lock.tokenSha256) throw draftLocked({ toolId, lock: existing ?? null }, now);
  return { token, lock };
}

/**
 * Extends the lock to ten minutes from now.
 * @throws PortholeError `tool_not_found`, `draft_locked`
 */
export async function renewDraftLock(
  deps: DraftLockDeps,
  caller: Caller,
  toolId: string,
  token: string | undefined,
): Promise<DraftLock> {
  const { found } = await findDraft(deps, caller, toolId);
  const claim = lockClaim(toolId, token, deps.clock.now());
  const expiresAt = new Date(claim.at.getTime() + LOCK_MS);
  const renewed = await deps.records.drafts.renewLock(claim, expiresAt);
  if (!renewed || found.lock === null) throw draftLocked(await existing(deps, toolId), claim.at);
  return { ...found.lock, expiresAt };
}

/**
 * Releases the lock. Succeeds if the lock has expired or was never taken.
 * @throws PortholeError `tool_not_found`, `draft_locked` if another user holds it
 */
export async function releaseDraftLock(
  deps: DraftLockDeps,
  caller: Caller,
  toolId: string,
  token: string | undefined,
): Promise<void> {
  await findDraft(deps, caller, toolId);
  const claim = lockClaim(toolId, token, deps.clock.now());
  if (await deps.records.drafts.releaseLock(claim)) return;
  const draft = await existing(deps, toolId);
  if (activeLock(draft.lock, claim.at) !== undefined) throw draftLocked(draft, claim.at);
}

/** A claim without a token matches no lock. */
export function lockClaim(toolId: string, token: string | undefined, at: Date): LockClaim {
  return { toolId, tokenSha256: hashOf(token ?? ''), at };
}

async function existing({ records }: DraftLockDeps, toolId: string) {
  const draft = await records.drafts.get(toolId);
  if (draft === undefined) throw toolNotFound(toolId);
  return draft;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
