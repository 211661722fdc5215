import { createHash, createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AuditEvent, AuditHeads } from '../resources/audit.ts';

/** The audit is not what was written. The message names the row. */
export class AuditError extends Error {}

export interface AuditVerified {
  readonly rows: number;
  /** `seq` of the first and the last row; 0: there are none. */
  readonly first: number;
  readonly last: number;
  /** Signed heads that match. */
  readonly heads: number;
  /** Rows without details, which an admin removed. */
  readonly redacted: number;
}

const START = '0'.repeat(64);

/**
 * Checks that no row was changed, removed, added or moved: the hash of each, that it follows the
 * one before, and the signed heads. The rows may begin anywhere.
 * @throws AuditError
 */
export async function verifyAudit(
  rows: AsyncIterable<AuditEvent> | Iterable<AuditEvent>,
  { heads, keys }: AuditHeads = { heads: [], keys: [] },
): Promise<AuditVerified> {
  const signed = new Map(heads.map((head) => [head.seq, readHead(head, keys)]));
  let before: AuditEvent | undefined;
  let first = 0;
  let count = 0;
  let redacted = 0;
  let matching = 0;
  for await (const row of rows) {
    checkHashes(row);
    checkPlace(row, before);
    const head = signed.get(row.seq);
    if (head !== undefined && head !== row.hash)
      throw new AuditError(`${nameOf(row)} was changed: a signed head has another hash of it.`);
    if (head !== undefined) matching += 1;
    if (row.salt === null) redacted += 1;
    first ||= row.seq;
    count += 1;
    before = row;
  }
  const last = before?.seq ?? 0;
  const missing = heads.find(({ seq }) => seq > last);
  if (missing !== undefined)
    throw new AuditError(`Row ${last + 1} is missing: a signed head has the hash of row ${missing.seq}.`);
  return { rows: count, first, last, heads: matching, redacted };
}

function checkPlace(row: AuditEvent, before: AuditEvent | undefined): void {
  if (before === undefined) {
    if (row.seq === 1 && row.prev_hash !== START) throw new AuditError(`${nameOf(row)} was changed.`);
    return;
  }
  if (row.seq > before.seq + 1) throw new AuditError(`Row ${before.seq + 1} is missing.`);
  if (row.seq !== before.seq + 1)
    throw new AuditError(`${nameOf(row)} comes after row ${before.seq}: the rows are out of order.`);
  if (row.prev_hash !== before.hash)
    throw new AuditError(`${nameOf(row)} does not follow row ${before.seq}, one of them was replaced.`);
}

function checkHashes(row: AuditEvent): void {
  const { seq, id, type, time, subject, result, details_hash, prev_hash, hash } = row;
  if (row.salt !== null) {
    const { actor, on_behalf_of, owner, source_ip, request_id, reason, data } = row;
    const details = { actor, on_behalf_of, owner, source_ip, request_id, reason, data };
    if (sha256(`${row.salt}${canonicalize(details)}`) !== details_hash)
      throw new AuditError(`${nameOf(row)} was changed: its details do not have the hash of the row.`);
  }
  const body = { seq, id, type, time, subject, result, details_hash, prev_hash };
  if (sha256(`${canonicalize(body)}`) !== hash) throw new AuditError(`${nameOf(row)} was changed.`);
}

const nameOf = ({ seq, id }: AuditEvent) => `Row ${seq} (${id})`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** The hash that a signed head has. @throws AuditError */
function readHead({ seq, token }: AuditHeads['heads'][number], keys: AuditHeads['keys']): string {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const isSigned = keys.some((jwk) =>
    verify(
      null,
      Buffer.from(`${header}.${payload}`),
      createPublicKey({ key: jwk, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    ),
  );
  if (!isSigned) throw new AuditError(`The head of row ${seq} is signed by no known key.`);
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { seq: number; hash: string };
  if (claims.seq !== seq) throw new AuditError(`The head of row ${seq} is signed for row ${claims.seq}.`);
  return claims.hash;
}
