import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AuditDetails, AuditRow } from './audit-event.ts';

/** `prevHash` of the first row. */
export const CHAIN_START = '0'.repeat(64);

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** @param salt keeps others from guessing details that were redacted, in hexadecimal digits */
export function detailsHash(salt: string, details: AuditDetails): string {
  return sha256(`${salt}${canonicalize(details)}`);
}

/** The SHA-256 of the row as canonical JSON (RFC 8785). */
export function rowHash(row: Omit<AuditRow, 'details' | 'salt' | 'hash'>): string {
  const { seq, id, type, at, subject, result } = row;
  return sha256(
    `${canonicalize({
      seq,
      id,
      type,
      time: at.toISOString(),
      subject,
      result,
      details_hash: row.detailsHash,
      prev_hash: row.prevHash,
    })}`,
  );
}
