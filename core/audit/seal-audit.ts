import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { wantsHeads } from '../webhooks/webhook-filter.ts';
import type { AuditHead, NewAuditEvent } from './audit-event.ts';
import { withReason } from './present-cause.ts';

/** Rows that one transaction puts into the chain. */
const AT_ONCE = 500;
/** Between two signed heads of a chain that grows, in milliseconds. */
export const HEAD_EVERY_MS = 5 * 60_000;

export interface SealAuditDeps {
  readonly records: Pick<Records, 'audit' | 'webhooks'>;
  readonly clock: Clock;
  readonly tokens: { signAuditHead(head: Omit<AuditHead, 'token'>): string };
  /** Undefined: heads are written to no bucket. */
  readonly archives: object | undefined;
}

/** Puts all stored events into the chain. */
export async function chainAudit({
  records: { audit },
}: {
  readonly records: Pick<Records, 'audit'>;
}): Promise<void> {
  while ((await audit.chain(AT_ONCE)) === AT_ONCE);
}

/** Puts all stored events into the chain, and signs its head if the last one is old. */
export async function sealAudit({ records, clock, tokens, archives }: SealAuditDeps): Promise<void> {
  const { audit } = records;
  await chainAudit({ records });
  const last = await audit.last();
  if (last === undefined) return;
  const signed = await audit.lastHead();
  const at = clock.now();
  if (signed?.seq === last.seq) return;
  // The event of a head needs no head, or an idle chain would grow.
  if (last.type === 'audit.head' && signed?.seq === last.seq - 1) return;
  // A head from the future was signed before the clock was set back: it does not count.
  if (signed !== undefined && Math.abs(at.getTime() - signed.at.getTime()) < HEAD_EVERY_MS) return;
  const head = { seq: last.seq, hash: last.hash, at };
  const token = tokens.signAuditHead(head);
  const hooks = await records.webhooks.list(undefined);
  const isWanted = hooks.some((hook) => hook.disabledAt === null && wantsHeads(hook));
  const event: NewAuditEvent = {
    type: 'audit.head',
    subject: `audit/${head.seq}`,
    owner: null,
    data: { seq: head.seq, hash: head.hash, token },
  };
  const options = { isWaiting: archives !== undefined, events: isWanted ? [event] : [] };
  await withReason('sign', () => audit.addHead({ ...head, token }, options));
}
