import type { Clock } from '#base/clock-and-ids.ts';
import type { AuditHead, AuditRecords } from './audit-event.ts';

/** Rows that one transaction puts into the chain. */
const AT_ONCE = 500;
/** Between two signed heads of a chain that grows, in milliseconds. */
export const HEAD_EVERY_MS = 5 * 60_000;

export interface SealAuditDeps {
  readonly records: { readonly audit: AuditRecords };
  readonly clock: Clock;
  readonly tokens: { signAuditHead(head: Omit<AuditHead, 'token'>): string };
}

/** Puts all stored events into the chain. */
export async function chainAudit({ records: { audit } }: Pick<SealAuditDeps, 'records'>): Promise<void> {
  while ((await audit.chain(AT_ONCE)) === AT_ONCE);
}

/** Puts all stored events into the chain, and signs its head if the last one is old. */
export async function sealAudit({ records, clock, tokens }: SealAuditDeps): Promise<void> {
  const { audit } = records;
  await chainAudit({ records });
  const last = await audit.last();
  if (last === undefined) return;
  const signed = await audit.lastHead();
  const at = clock.now();
  if (signed?.seq === last.seq) return;
  if (signed !== undefined && at.getTime() - signed.at.getTime() < HEAD_EVERY_MS) return;
  const head = { seq: last.seq, hash: last.hash, at };
  await audit.addHead({ ...head, token: tokens.signAuditHead(head) });
}
