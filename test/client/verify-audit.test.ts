import { describe, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { CHAIN_START, detailsHash, rowHash } from '#core/audit/audit-chain.ts';
import { publicKeyText, signJwt } from '#protocol/guest/guest-pod.ts';
import { viewerKeys } from '#protocol/guest/visit-tickets.ts';
import { verifyAudit } from '../../client/node/verify-audit.ts';
import type { AuditEvent } from '../../client/resources/audit.ts';

const AT = new Date('2026-11-30T12:00:00.000Z');

/** Rows as the server writes them. */
function chainOf(length: number): AuditEvent[] {
  let prevHash = CHAIN_START;
  return Array.from({ length }, (_, n) => {
    const details = {
      actor: { kind: 'person', id: 'alice', org: 'acme', credential: 'session' },
      on_behalf_of: null,
      owner: { user: 'alice', org: 'acme' },
      source_ip: '192.0.2.1',
      request_id: `r${n}`,
      reason: null,
      data: { name: 'grün “x”', count: n, ratio: 1e21, none: null },
    } as const;
    const salt = `${n}`.padStart(32, '0');
    const body = {
      seq: n + 1,
      id: `evt_${n}`,
      type: 'sandbox.stopped',
      at: AT,
      subject: `sandbox/${n}`,
      result: 'ok',
      detailsHash: detailsHash(salt, details),
      prevHash,
    } as const;
    const hash = rowHash(body);
    const { at, detailsHash: details_hash, prevHash: prev_hash, ...rest } = body;
    prevHash = hash;
    return { ...rest, ...details, time: at.toISOString(), salt, details_hash, prev_hash, hash };
  });
}

const { privateKey } = generateKeyPairSync('ed25519');
const { keys } = viewerKeys([publicKeyText(privateKey)]);
const headOf = ({ seq, hash, time }: AuditEvent, key = privateKey) => ({
  seq,
  hash,
  time,
  token: signJwt(key, 'porthole-audit-head+jwt', { seq, hash, iat: 0 }),
});

const rows = chainOf(10);
const at = (seq: number) => rows[seq - 1] as AuditEvent;
const replaced = (seq: number, row: Partial<AuditEvent>) =>
  rows.map((each) => (each.seq === seq ? { ...each, ...row } : each));

describe('the verification of the audit', () => {
  test('accepts what the server wrote, whole or a part, with its heads', async () => {
    const heads = { heads: [headOf(at(5)), headOf(at(10))], keys };
    expect(await verifyAudit(rows, heads)).toEqual({ rows: 10, first: 1, last: 10, heads: 2, redacted: 0 });
    expect(await verifyAudit(rows.slice(3))).toMatchObject({ rows: 7, first: 4 });
    expect(await verifyAudit([])).toMatchObject({ rows: 0, first: 0, last: 0 });
  });

  test.each<[string, readonly AuditEvent[], string]>([
    ['a changed type', replaced(4, { type: 'sandbox.resumed' }), 'Row 4 (evt_3) was changed.'],
    ['a changed time', replaced(4, { time: '2026-11-30T12:00:00.001Z' }), 'Row 4 (evt_3) was changed.'],
    ['a changed result', replaced(4, { result: 'denied' }), 'Row 4 (evt_3) was changed.'],
    ['a changed user', replaced(7, { on_behalf_of: 'mallory' }), 'Row 7 (evt_6) was changed: its details'],
    ['a changed value', replaced(7, { data: { count: 7 } }), 'Row 7 (evt_6) was changed: its details'],
    ['a removed row', rows.filter(({ seq }) => seq !== 6), 'Row 6 is missing.'],
    [
      'two rows in the other order',
      [...rows.slice(0, 2), at(4), at(3), ...rows.slice(4)],
      'Row 3 is missing.',
    ],
    ['a row twice', [...rows.slice(0, 5), at(5), ...rows.slice(5)], 'Row 5 (evt_4) comes after row 5'],
    ['a row of another chain', [...rows.slice(0, 4), ...withOther(5)], 'Row 5 (evt_4) does not follow row 4'],
  ])('names %s', async (_, given, message) => {
    await expect(verifyAudit(given)).rejects.toThrow(message);
  });

  test('names what only a signed head can show', async () => {
    const heads = { heads: [headOf(at(10))], keys };
    await expect(verifyAudit(rows.slice(0, 8), heads)).rejects.toThrow('Row 9 is missing: a signed head');
    const rewritten = { heads: [headOf({ ...at(5), hash: 'f'.repeat(64) })], keys };
    await expect(verifyAudit(rows, rewritten)).rejects.toThrow('Row 5 (evt_4) was changed: a signed head');
    const foreign = { heads: [headOf(at(5), generateKeyPairSync('ed25519').privateKey)], keys };
    await expect(verifyAudit(rows, foreign)).rejects.toThrow('The head of row 5 is signed by no known key.');
    const moved = { heads: [{ ...headOf(at(5)), seq: 6 }], keys };
    await expect(verifyAudit(rows, moved)).rejects.toThrow('The head of row 6 is signed for row 5.');
  });
});

/** The rows from one on, of a chain that began otherwise. */
function withOther(seq: number): AuditEvent[] {
  const other = chainOf(seq).at(-1) as AuditEvent;
  const prevHash = 'e'.repeat(64);
  const hash = rowHash({
    seq,
    id: other.id,
    type: other.type,
    at: AT,
    subject: other.subject,
    result: other.result,
    detailsHash: other.details_hash,
    prevHash,
  });
  return [{ ...other, prev_hash: prevHash, hash }];
}
