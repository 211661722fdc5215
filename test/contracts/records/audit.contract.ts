import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditRow, NewAuditEvent } from '#core/audit/audit-event.ts';
import { actorOf, withCause } from '#core/audit/present-cause.ts';
import type { Records } from '#core/records.ts';
import { verifyAudit } from '../../../client/node/verify-audit.ts';
import type { AuditEvent } from '../../../client/resources/audit.ts';
import { aRun, aSandbox, ALICE, BOB, minutes, NOON } from './samples.ts';

const stopped = (id: string, owner = ALICE): NewAuditEvent => ({
  type: 'sandbox.stopped',
  subject: `sandbox/${id}`,
  owner,
  data: { why: 'idle' },
});

/** A row as the API has it. */
function shown({ details, at, detailsHash, prevHash, ...row }: AuditRow): AuditEvent {
  const none = { actor: null, on_behalf_of: null, owner: null, source_ip: null };
  const content = details ?? { ...none, request_id: null, reason: null, data: null };
  return {
    ...row,
    ...content,
    time: at.toISOString(),
    details_hash: detailsHash,
    prev_hash: prevHash,
  };
}

/** The contract of the audit, `peer` being a second instance on the same database. */
export function auditContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('the audit', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const rows = async (after = 0) => {
      while ((await peer.audit.chain(100)) > 0);
      return (await records.audit.read({}, { after, limit: 1_000 })).rows;
    };
    const types = async () => (await rows()).map(({ type }) => type);

    test('has each change of a sandbox once, and none of what changed nothing', async () => {
      const box = { id: 'box', generation: 1 };
      await records.sandboxes.create(aSandbox('box'));
      await records.sandboxes.create(aSandbox('box'));
      expect(await peer.sandboxes.moveDesired(box, 'running', 'stopped', NOON)).toBe(true);
      expect(await records.sandboxes.moveDesired(box, 'running', 'stopped', NOON)).toBe(false);
      await records.sandboxes.setNetwork(box, { ...aSandbox('box').network, mode: 'off' });
      await records.sandboxes.setDesired('box', 'destroyed', 1);
      await records.sandboxes.setDesired('box', 'destroyed', 1);
      await records.sandboxes.setObserved('box', 'destroyed', 1);
      const found = await rows();
      expect(found.map(({ seq, type, subject }) => [seq, type, subject])).toEqual([
        [1, 'sandbox.created', 'sandbox/box'],
        [2, 'sandbox.stopped', 'sandbox/box'],
        [3, 'sandbox.network_changed', 'sandbox/box'],
        [4, 'sandbox.destroyed', 'sandbox/box'],
      ]);
      expect(found[1]?.details).toMatchObject({ actor: { kind: 'porthole' }, owner: ALICE });
    });

    test('says since when an event waits for its place in the chain', async () => {
      expect(await records.audit.oldestLoose()).toBeUndefined();
      const before = Date.now();
      await records.audit.add([stopped('a'), stopped('b')]);
      const oldest = (await peer.audit.oldestLoose())?.getTime() ?? 0;
      expect(oldest >= before && oldest <= Date.now()).toBe(true);
      const { now, software } = await records.database();
      expect(now.getTime()).toBeGreaterThan(Date.now() - 60_000);
      expect(software).toMatch(/^(PostgreSQL|SQLite) \d+\.[\d.]+$/);
      await peer.audit.chain(100);
      expect(await records.audit.oldestLoose()).toBeUndefined();
    });

    test('has who did it, for whom and from where', async () => {
      await records.runs.create(aRun('run_1'));
      const agent = { kind: 'agent', runId: 'run_1', sandboxId: 'box', owner: ALICE } as const;
      const cause = { ...actorOf(agent), sourceIp: '192.0.2.7', requestId: 'r1', reason: null };
      const opened = { type: 'preview.opened', key: 'a', data: { target_port: 3000 } } as const;
      await withCause(cause, () => records.timeline.append('run_1', [opened, opened], NOON));
      const [row, ...more] = await rows();
      expect([row?.type, row?.subject, more]).toEqual(['preview.opened', 'run/run_1/port/3000', []]);
      expect(row?.details).toEqual({
        actor: { kind: 'agent', id: 'run_1', org: ALICE.org, credential: 'token' },
        on_behalf_of: ALICE.user,
        owner: ALICE,
        source_ip: '192.0.2.7',
        request_id: 'r1',
        reason: null,
        data: { run_id: 'run_1', target_port: 3000 },
      });
    });

    test('has nothing of a change that was rolled back', async () => {
      const key = { ...ALICE_KEY, id: 'key_1' };
      expect(await records.apiKeys.create(key, 1)).toBe(true);
      expect(await records.apiKeys.create({ ...key, id: 'key_2', digest: 'b' }, 1)).toBe(false);
      await records.apiKeys.revoke('key_2');
      await records.apiKeys.revoke('key_1');
      expect(await types()).toEqual(['key.created', 'key.revoked']);
    });

    test('is one chain, however many instances write and chain it', async () => {
      await Promise.all(
        Array.from({ length: 60 }, async (_, n) => {
          const one = n % 2 === 0 ? records : peer;
          await one.audit.add([stopped(`a${n}`), stopped(`b${n}`)]);
          await one.audit.chain(7);
        }),
      );
      const found = await rows();
      expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1));
      expect(await verifyAudit(found.map(shown))).toMatchObject({ rows: 120, first: 1, last: 120 });
      expect(await records.audit.last()).toEqual({
        seq: 120,
        hash: found.at(-1)?.hash,
        type: 'sandbox.stopped',
      });
    });

    test('is read by type, subject, user and time, in pages', async () => {
      await records.audit.add([
        stopped('a'),
        stopped('b', BOB),
        { ...stopped('a'), type: 'sandbox.resumed' },
      ]);
      await rows();
      const of = async (filter: Parameters<typeof records.audit.read>[0]) =>
        (await peer.audit.read(filter, { after: 0, limit: 10 })).rows.map(({ seq }) => seq);
      expect(await of({ types: ['sandbox.resumed'] })).toEqual([3]);
      expect(await of({ subject: 'sandbox/a' })).toEqual([1, 3]);
      expect(await of({ user: BOB.user })).toEqual([2]);
      expect(await of({ user: '%' })).toEqual([]);
      expect(await of({ user: BOB.user.toUpperCase() })).toEqual([]);
      expect(await of({ from: new Date(Date.now() + 60_000) })).toEqual([]);
      expect(await of({ to: new Date(Date.now() + 60_000) })).toHaveLength(3);
      const { rows: page, more } = await peer.audit.read({}, { after: 1, limit: 1 });
      expect([page.map(({ seq }) => seq), more]).toEqual([[2], true]);
      await records.audit.add([stopped('loose')]);
      const backwards = async (after: number) => {
        const found = await peer.audit.read({}, { after, limit: 2, order: 'desc' });
        return [found.rows.map(({ seq }) => seq), found.more];
      };
      expect([await backwards(0), await backwards(2)]).toEqual([
        [[3, 2], true],
        [[1], false],
      ]);
    });

    test('verifies without what a user was redacted from', async () => {
      await records.audit.add([stopped('a'), stopped('b', BOB)]);
      await rows();
      expect([await records.audit.redact(BOB.user), await peer.audit.redact(BOB.user)]).toEqual([1, 0]);
      const found = await rows();
      expect(found.map(({ details, salt }) => [details === null, salt === null])).toEqual([
        [false, false],
        [true, true],
      ]);
      expect(JSON.stringify(found)).not.toContain(BOB.user);
      expect(await verifyAudit(found.map(shown))).toMatchObject({ rows: 2, redacted: 1 });
    });

    test('adds a head once with its events, and keeps it waiting until it is anchored', async () => {
      const heads = [2, 1, 3].map((seq) => ({ seq, hash: `h${seq}`, at: minutes(seq), token: `t${seq}` }));
      const options = { isWaiting: true, events: [{ ...stopped('a'), type: 'audit.head' as const }] };
      for (const head of heads) {
        await Promise.all([records.audit.addHead(head, options), peer.audit.addHead(head, options)]);
      }
      await records.audit.addHead({ seq: 4, hash: 'h4', at: minutes(4), token: 't4' });
      expect((await rows()).map(({ type }) => type)).toEqual(heads.map(() => 'audit.head'));
      expect((await peer.audit.waitingHeads())[0]).toEqual(heads[1]);
      await records.audit.anchored(1);
      expect((await peer.audit.waitingHeads()).map(({ seq }) => seq)).toEqual([2, 3]);
      expect((await peer.audit.heads(0)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    });

    test('forgets only rows that a signed head follows', async () => {
      await records.audit.add([stopped('a'), stopped('b'), stopped('c')]);
      const future = new Date(Date.now() + 60_000);
      const found = await rows();
      expect(await records.audit.forget(future)).toBe(0);
      const { seq = 0, hash = '' } = found[1] ?? {};
      for (const token of ['first', 'second']) await peer.audit.addHead({ seq, hash, at: minutes(1), token });
      expect(await records.audit.lastHead()).toEqual({ seq, hash, at: minutes(1), token: 'first' });
      expect(await records.audit.forget(NOON)).toBe(0);
      expect(await records.audit.forget(future)).toBe(1);
      const left = await rows();
      expect(left.map((row) => row.seq)).toEqual([2, 3]);
      expect(await verifyAudit(left.map(shown))).toMatchObject({ rows: 2, first: 2, last: 3 });
      expect((await peer.audit.heads(0)).map((head) => head.seq)).toEqual([2]);
    });
  });
}

const ALICE_KEY = {
  owner: ALICE,
  name: 'CI',
  scope: 'full',
  admin: false,
  issuer: null,
  prefix: 'porthole_0a0a0a0a',
  digest: 'a',
  createdAt: NOON,
  expiresAt: minutes(60),
  lastUsedAt: null,
} as const;
