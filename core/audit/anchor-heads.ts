import { createHash } from 'node:crypto';
import { type Clock, later } from '#base/clock-and-ids.ts';
import { unlessAborted } from '#base/concurrency.ts';
import { viewerKeys } from '#protocol/guest/visit-tickets.ts';
import type { Records } from '../records.ts';
import type { AuditHead } from './audit-event.ts';

/** A place that the administrators of the database cannot change. */
export interface HeadStore {
  /** Keeps the text from being changed or deleted until then, if the store can. */
  putLocked(key: string, text: string, until: Date): Promise<void>;
}

export interface AnchorHeadsDeps {
  readonly records: Pick<Records, 'audit'>;
  readonly clock: Clock;
  readonly tokens: { readonly auditKeys: readonly string[] };
  /** Undefined: there is no bucket. */
  readonly archives: { readonly store: HeadStore } | undefined;
  readonly installationId: string;
  readonly auditRetentionMs: number;
}

/** Signed heads with the public keys that verify them, as `porthole audit heads` prints them. */
export function headsDocument(heads: readonly AuditHead[], auditKeys: readonly string[]) {
  return {
    heads: heads.map(({ seq, hash, at, token }) => ({ seq, hash, time: at.toISOString(), token })),
    ...viewerKeys(auditKeys),
  };
}

/** Writes the waiting heads to the bucket, an object each. Several processes may do so at once. */
export async function anchorHeads(
  { records: { audit }, clock, tokens, archives, installationId, auditRetentionMs }: AnchorHeadsDeps,
  signal: AbortSignal,
): Promise<void> {
  if (archives === undefined) return;
  const folder = `audit-heads/${createHash('sha256').update(installationId).digest('hex').slice(0, 16)}`;
  for (const head of await audit.waitingHeads()) {
    const key = `${folder}/${String(head.seq).padStart(10, '0')}.json`;
    const text = JSON.stringify(headsDocument([head], tokens.auditKeys));
    const stored = archives.store.putLocked(key, text, later(clock, auditRetentionMs));
    await unlessAborted(stored, signal);
    await audit.anchored(head.seq);
  }
}
