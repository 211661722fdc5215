import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { ApprovalScope } from '#core/approvals/approval-scopes.ts';
import type {
  ApprovalRecord,
  ApprovalRequest,
  Decision,
  PolicyRecord,
} from '#core/approvals/approval-store.ts';
import type { Records } from '#core/shared/records.ts';
import { ALICE, BOB, fresh, minutes, aRun } from './samples.ts';

let asked = 0;
let policies = 0;
const freshId = () => `apr_${String((asked += 1)).padStart(26, '0')}`;
const freshPolicy = () => `pol_${String((policies += 1)).padStart(26, '0')}`;

/** A request at a minute, which times out after five. */
function request(at: number, rest: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    id: freshId(),
    runId: 'run_1',
    tool: 'start_preview',
    args: { target_port: 3000 },
    message: 'Open it?',
    requestedAt: minutes(at),
    expiresAt: minutes(at + 5),
    ...rest,
  };
}

function decision(outcome: Decision['outcome'], rest: Partial<Decision> = {}): Decision {
  return { outcome, scope: 'once', reason: null, by: 'alice', policyId: freshPolicy(), ...rest };
}

/**
 * The contract of a store of approvals and policies, `peer` being a second instance on the same
 * database.
 */
export function approvalsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { runs: propertyRuns, wakesPeers }: { readonly runs: number; readonly wakesPeers: boolean },
): void {
  describe('approvals', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.runs.create(aRun('run_1'));
    });

    let waiters = 0;
    /** Makes a request at minute `at`; the waiter's lease lasts `lease` minutes. */
    const ask = (
      at: number,
      rest: Partial<ApprovalRequest> = {},
      { waiter = `w${(waiters += 1)}`, lease = 1, most = 100, from = records } = {},
    ): Promise<ApprovalRecord> =>
      from.approvals.ask(
        request(at, rest),
        { id: waiter, until: minutes(at + lease) },
        { keptSince: minutes(at - 5), since: minutes(at - 5), most },
      );
    const decide = async (id: string, at: number, what: Decision, from = records) => {
      const result = await from.approvals.decide('run_1', id, what, minutes(at));
      return [result?.decided, result?.approval.status];
    };
    const stand = async (id: string) => (await peer.approvals.get(id))?.status;
    /** `type display_id` of each event, `asked` for those that start a request. */
    const reported = async (runId = 'run_1'): Promise<string[]> => {
      const { events } = await peer.timeline.read(runId, { after: 0, limit: 1000 });
      return events.map(({ type, data }) => `${type} ${String(data['request_id'])}`);
    };

    test('wait as they were asked, and the timeline tells it', async () => {
      const args = { target_port: 3000, rotate: true, name: 'a "b" 🛳️' };
      const approval = await ask(0, { args });
      expect(approval).toEqual({
        ...request(0, { args, id: approval.id }),
        status: 'waiting',
        endedAt: null,
        source: null,
        decidedBy: null,
        scope: null,
        reason: null,
        takenAt: null,
      });
      expect(await peer.approvals.get(approval.id)).toEqual(approval);
      expect(await peer.approvals.get(freshId())).toBeUndefined();
      const { events } = await peer.timeline.read('run_1', { after: 0, limit: 10 });
      expect(events).toEqual([
        {
          seq: 1,
          type: 'tool.approval_required',
          at: minutes(0),
          data: {
            request_id: approval.id,
            display_id: approval.id.slice(-8),
            tool: 'start_preview',
            ...args,
            message: 'Open it?',
            expires_at: '2026-03-01T12:05:00.000Z',
          },
        },
      ]);
    });

    test('are joined by identical ones, in whatever order their arguments are named, and by no other', async () => {
      const first = await ask(0, { args: { a: 1, b: '1' } });
      expect((await ask(1, { args: { b: '1', a: 1 } }, { from: peer })).id).toBe(first.id);
      const others = [
        await ask(1, { args: { a: 1, b: 1 } }),
        await ask(1, { args: { a: 1 } }),
        await ask(1, { args: { a: 1, b: '1' }, tool: 'other' }),
      ];
      await records.runs.create(aRun('run_2'));
      others.push(await ask(1, { args: { a: 1, b: '1' }, runId: 'run_2' }));
      expect(new Set([first, ...others].map(({ id }) => id)).size).toBe(5);
      expect((await reported()).length + (await reported('run_2')).length).toBe(5);
    });

    test('become one when many callers ask at once', async () => {
      const all = await Promise.all(
        Array.from({ length: 30 }, (_, at) => ask(0, {}, { from: at % 2 ? peer : records })),
      );
      expect(new Set(all.map(({ id }) => id)).size).toBe(1);
      expect(await reported()).toEqual([`tool.approval_required ${all[0]?.id}`]);
    });

    test.each([
      ['approved', 'tool.approved'],
      ['denied', 'tool.denied'],
    ] as const)('are %s once: a second decision changes nothing', async (outcome, type) => {
      const { id } = await ask(0);
      const other = outcome === 'approved' ? 'denied' : 'approved';
      expect(await decide(id, 1, decision(outcome, { reason: 'because', by: 'bob' }), peer)).toEqual([
        true,
        outcome,
      ]);
      for (const again of [outcome, other] as const)
        expect(await decide(id, 1, decision(again, { scope: 'always' }))).toEqual([false, outcome]);
      expect(await reported()).toEqual([`tool.approval_required ${id}`, `${type} ${id}`]);
      const { events } = await records.timeline.read('run_1', { after: 1, limit: 1 });
      expect(events[0]).toEqual({
        seq: 2,
        type,
        at: minutes(1),
        data: {
          request_id: id,
          display_id: id.slice(-8),
          tool: 'start_preview',
          target_port: 3000,
          source: 'person',
          scope: 'once',
          decided_by: 'bob',
          reason: 'because',
        },
      });
      expect((await records.policies.list(undefined, { limit: 10 })).items).toEqual([]);
    });

    test('are not decided under another run, nor under an unknown id', async () => {
      const { id } = await ask(0);
      await records.runs.create(aRun('run_2'));
      expect(await records.approvals.decide('run_2', id, decision('approved'), minutes(1))).toBeUndefined();
      expect(await decide(freshId(), 1, decision('approved'))).toEqual([undefined, undefined]);
      expect(await stand(id)).toBe('waiting');
    });

    test('time out when a decision comes after their expiry', async () => {
      const { id } = await ask(0);
      expect(await decide(id, 5, decision('approved'))).toEqual([false, 'timed_out']);
      expect(await reported()).toEqual([`tool.approval_required ${id}`, `tool.timed_out ${id}`]);
    });

    test('are not joined after their expiry: the same request is asked anew', async () => {
      const first = await ask(0);
      const second = await ask(5, {}, { from: peer });
      expect(await reported()).toEqual([
        `tool.approval_required ${first.id}`,
        `tool.timed_out ${first.id}`,
        `tool.approval_required ${second.id}`,
      ]);
      expect(await stand(second.id)).toBe('waiting');
    });

    test('are also joined when an instance with a late clock asks', async () => {
      const ended = await ask(2);
      await decide(ended.id, 3, decision('denied'));
      await records.approvals.take(ended.id, minutes(3));
      const behind = await ask(1, {}, { from: peer });
      expect((await ask(3)).id).toBe(behind.id);
    });

    test('time out when they are due, for one run or for all runs, and no others do', async () => {
      await records.runs.create(aRun('run_2'));
      const [a, b] = [await ask(0), await ask(1, { args: { target_port: 3001 } })];
      const c = await ask(0, { runId: 'run_2' });
      expect(await records.approvals.timeOut(minutes(4))).toBe(0);
      expect(await peer.approvals.timeOut(minutes(5), 'run_1')).toBe(1);
      expect(await Promise.all([a, b, c].map(({ id }) => stand(id)))).toEqual([
        'timed_out',
        'waiting',
        'waiting',
      ]);
      expect(await records.approvals.timeOut(minutes(6))).toBe(2);
      expect(await records.approvals.timeOut(minutes(60))).toBe(0);
    });

    test('time out together when they are more than one pass reads', async () => {
      const ports = Array.from({ length: 220 }, (_, at) => 3000 + at);
      for (const target_port of ports) await ask(0, { args: { target_port } }, { most: 1000 });
      expect(await records.approvals.timeOut(minutes(5))).toBe(220);
      expect((await reported()).filter((each) => each.startsWith('tool.timed_out'))).toHaveLength(220);
    });

    describe('without callers any more', () => {
      test('are withdrawn with the last of them', async () => {
        const { id } = await ask(0, {}, { waiter: 'one' });
        await ask(0, {}, { waiter: 'two', lease: 3, from: peer });
        expect(await records.approvals.leave('run_1', id, 'one', minutes(0.5))).toEqual(minutes(3));
        expect(await stand(id)).toBe('waiting');
        expect(await peer.approvals.leave('run_1', id, 'two', minutes(0.5))).toBeUndefined();
        expect(await stand(id)).toBe('withdrawn');
        expect(await peer.approvals.leave('run_1', id, 'two', minutes(0.5))).toBeUndefined();
        expect(await reported()).toEqual([`tool.approval_required ${id}`, `tool.withdrawn ${id}`]);
        expect((await ask(1)).id).not.toBe(id);
      });

      test('wait on while a caller confirms that it still waits', async () => {
        const { id } = await ask(0, {}, { waiter: 'one' });
        await ask(0, {}, { waiter: 'two' });
        await peer.approvals.stay(id, { id: 'two', until: minutes(4) });
        expect(await records.approvals.leave('run_1', id, 'one', minutes(3))).toEqual(minutes(4));
      });

      test('are withdrawn once those who were killed would have said so again', async () => {
        const { id } = await ask(0, {}, { waiter: 'one' });
        await ask(0, {}, { waiter: 'killed', lease: 2 });
        expect(await records.approvals.leave('run_1', id, 'one', minutes(1))).toEqual(minutes(2));
        expect(await records.approvals.leave('run_1', id, 'one', minutes(2))).toBeUndefined();
        expect(await stand(id)).toBe('withdrawn');
      });

      test('time out after their expiry, and are not withdrawn', async () => {
        const { id } = await ask(0, {}, { waiter: 'one' });
        expect(await records.approvals.leave('run_1', id, 'one', minutes(5))).toBeUndefined();
        expect(await stand(id)).toBe('timed_out');
        expect(await records.approvals.leave('run_1', freshId(), 'one', minutes(5))).toBeUndefined();
      });

      test('wait on when everybody was killed', async () => {
        const { id } = await ask(0, {}, { lease: 1 });
        expect((await ask(4)).id).toBe(id);
        expect(await stand(id)).toBe('waiting');
      });

      test('stay as they were decided', async () => {
        const { id } = await ask(0, {}, { waiter: 'one' });
        await decide(id, 1, decision('approved'));
        expect(await records.approvals.leave('run_1', id, 'one', minutes(1))).toBeUndefined();
        expect(await stand(id)).toBe('approved');
      });
    });

    describe('with no caller to take the decision', () => {
      test.each(['approved', 'denied'] as const)(
        '%s are kept for an identical request, until it is taken',
        async (outcome) => {
          const { id } = await ask(0);
          await decide(id, 1, decision(outcome));
          expect((await ask(5.9, {}, { from: peer })).id).toBe(id);
          expect((await ask(5.9, {}, { from: peer })).status).toBe(outcome);
          await records.approvals.take(id, minutes(5.9));
          await records.approvals.take(id, minutes(6));
          const next = await ask(5.9);
          expect([next.status, next.id === id]).toEqual(['waiting', false]);
          expect((await peer.approvals.get(id))?.takenAt).toEqual(minutes(5.9));
        },
      );

      test('are kept no longer than asked for', async () => {
        const { id } = await ask(0);
        await decide(id, 1, decision('approved'));
        expect((await ask(6)).status).toBe('waiting');
      });

      test('are kept for no other request', async () => {
        const { id } = await ask(0);
        await decide(id, 1, decision('approved'));
        expect((await ask(2, { args: { target_port: 3001 } })).status).toBe('waiting');
      });

      test('no longer count once the same request is decided again', async () => {
        const { id } = await ask(0);
        await decide(id, 1, decision('approved'));
        const second = await ask(1, {}, { from: peer });
        expect(second.id).toBe(id);
        const later = await ask(7);
        await decide(later.id, 8, decision('denied'));
        await records.approvals.take(later.id, minutes(8));
        expect((await ask(8.5)).status).toBe('waiting');
      });
    });

    test('beyond the bound are refused, joined ones are not, and time makes room', async () => {
      for (const port of [1, 2, 3]) await ask(0, { args: { port } }, { most: 3 });
      await expect(ask(1, { args: { port: 4 } }, { most: 3 })).rejects.toMatchObject({
        code: 'too_many_approvals',
      });
      expect((await ask(1, { args: { port: 3 } }, { most: 3 })).status).toBe('waiting');
      expect((await ask(5, { args: { port: 4 } }, { most: 3 })).status).toBe('waiting');
    });

    test('are forgotten when they ended before, not when they ended then, and never while they wait', async () => {
      const [a, b, c] = [
        await ask(0, { args: { port: 1 } }),
        await ask(0, { args: { port: 2 } }),
        await ask(0, { args: { port: 3 } }),
      ];
      await decide(a.id, 1, decision('denied'));
      await decide(b.id, 2, decision('denied'));
      expect(await records.approvals.forget(minutes(2))).toBe(1);
      expect(await Promise.all([a, b, c].map(({ id }) => stand(id)))).toEqual([
        undefined,
        'denied',
        'waiting',
      ]);
    });

    test('end exactly once when callers decide, leave and time out at the same time', async () => {
      type Ender = (id: string) => Promise<boolean>;
      const enders: Record<string, (from: Records) => Ender> = {
        approve: (from) => async (id) =>
          (await from.approvals.decide('run_1', id, decision('approved'), minutes(5 - 1e-6)))?.decided ===
          true,
        deny: (from) => async (id) =>
          (await from.approvals.decide('run_1', id, decision('denied'), minutes(1)))?.decided === true,
        late: (from) => async (id) => {
          await from.approvals.decide('run_1', id, decision('approved'), minutes(5));
          return false;
        },
        leave: (from) => async (id) => {
          await from.approvals.leave('run_1', id, 'w', minutes(1));
          return false;
        },
        timeOut: (from) => async () => {
          await from.approvals.timeOut(minutes(5));
          return false;
        },
      };
      const one = fc.record({ what: fc.constantFrom(...Object.keys(enders)), onPeer: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 8 }), async (attempts) => {
          const { id } = await ask(0, { args: { name: fresh() } }, { waiter: 'w', most: 100_000 });
          const decided = await Promise.all(
            attempts.map(async ({ what, onPeer }) => enders[what]?.(onPeer ? peer : records)(id)),
          );
          const status = await stand(id);
          expect(status).not.toBe('waiting');
          const byPerson = status === 'approved' || status === 'denied';
          expect(decided.filter((each) => each === true)).toHaveLength(byPerson ? 1 : 0);
          const { events } = await records.timeline.read('run_1', { after: 0, limit: 1000 });
          const ends = events.filter(
            ({ type, data }) => type !== 'tool.approval_required' && data['request_id'] === id,
          );
          expect(ends.map(({ type }) => type)).toEqual([`tool.${status}`]);
        }),
        { numRuns: propertyRuns },
      );
    });

    describe('that wait', () => {
      const waiting = async (at: number, owner?: typeof ALICE, most = 100, from = peer) =>
        (await from.approvals.waiting(owner, minutes(at), most)).map(({ id }) => id);

      test('are shown with their owner, as they were asked', async () => {
        await records.runs.create(aRun('run_2', { owner: BOB, title: 'Rebuild it' }));
        const { id } = await ask(0, { runId: 'run_2', args: { target_port: 3000, name: '“🛳️”' } });
        expect(await peer.approvals.waiting(BOB, minutes(1), 10)).toEqual([
          {
            ...request(0, { id, runId: 'run_2', args: { target_port: 3000, name: '“🛳️”' } }),
            runTitle: 'Rebuild it',
            owner: BOB,
          },
        ]);
      });

      test('are shown to their owner, or to one who sees everybody’s, the oldest first, so many of them', async () => {
        await records.runs.create(aRun('run_2', { owner: BOB }));
        const second = await ask(1, { args: { port: 1 } });
        const first = await ask(0, { args: { port: 2 } });
        const his = await ask(2, { runId: 'run_2' });
        expect(await waiting(3, ALICE)).toEqual([first.id, second.id]);
        expect(await waiting(3, BOB)).toEqual([his.id]);
        expect(await waiting(3, { user: 'alice', org: 'other' })).toEqual([]);
        expect(await waiting(3)).toEqual([first.id, second.id, his.id]);
        expect(await waiting(3, undefined, 2)).toEqual([first.id, second.id]);
      });

      test('are shown until they are due, though nothing has timed them out yet', async () => {
        const { id } = await ask(0);
        expect(await waiting(4.99)).toEqual([id]);
        expect(await waiting(5)).toEqual([]);
        expect(await stand(id)).toBe('waiting');
      });

      test('are shown no more once they are approved, denied, withdrawn or timed out', async () => {
        const [a, b, c, d] = [
          await ask(0, { args: { port: 1 } }),
          await ask(0, { args: { port: 2 } }),
          await ask(0, { args: { port: 3 } }, { waiter: 'one' }),
          await ask(-1, { args: { port: 4 } }),
        ];
        expect(await waiting(1)).toEqual([d.id, a.id, b.id, c.id]);
        await decide(a.id, 1, decision('approved'));
        await decide(b.id, 1, decision('denied'));
        await records.approvals.leave('run_1', c.id, 'one', minutes(1));
        await records.approvals.timeOut(minutes(4));
        expect(await waiting(1)).toEqual([]);
      });

      /**
       * Checks at each wake until this many wait; never resolves if a wake is missing or comes
       * before its change.
       */
      async function until(count: number, from: Records): Promise<void> {
        let { promise: rung, resolve: ring } = Promise.withResolvers<void>();
        const end = from.approvals.watch(() => ring());
        for (;;) {
          ({ promise: rung, resolve: ring } = Promise.withResolvers<void>());
          if ((await waiting(1, undefined, 100, from)).length === count) break;
          await rung;
        }
        end();
      }
      const beginAndEnd = async (watcher: Records) => {
        const begun = until(2, watcher);
        await records.runs.create(aRun('run_2', { owner: BOB }));
        const { id } = await ask(0);
        await ask(0, { runId: 'run_2' });
        await begun;
        const over = until(1, watcher);
        await decide(id, 1, decision('denied'));
        await over;
      };

      test('notify watchers, in whatever run they begin or end', () => beginAndEnd(records));

      test('do not notify a watcher that has stopped', async () => {
        let woken = 0;
        records.approvals.watch(() => (woken += 1))();
        await beginAndEnd(records);
        expect(woken).toBe(0);
      });

      if (wakesPeers) test('notify watchers on another instance', () => beginAndEnd(peer));
    });

    describe('policies', () => {
      const approve = async (scope: ApprovalScope, at = 1, rest: Partial<ApprovalRequest> = {}) => {
        const { id, runId } = await ask(0, rest);
        const what = decision('approved', { scope, by: 'carol' });
        await records.approvals.decide(runId, id, what, minutes(at));
        return what.policyId;
      };
      const covering = (owner = ALICE, runId = 'run_1', tool = 'start_preview', target_port = 3000) =>
        peer.policies.covering(owner, runId, tool, { target_port });

      test('come from approvals that reach further than once', async () => {
        await approve('once');
        expect(await covering()).toBeUndefined();
        const id = await approve('run', 1, { args: {} });
        const policy: PolicyRecord = {
          id,
          owner: ALICE,
          tool: 'start_preview',
          runId: 'run_1',
          targetPort: null,
          createdAt: minutes(1),
          createdBy: 'carol',
        };
        expect(await covering()).toEqual(policy);
        expect(await peer.policies.get(id)).toEqual(policy);
      });

      test('cover their tool for the scope of a run, and no other run or tool', async () => {
        const id = await approve('run');
        expect((await covering())?.id).toBe(id);
        expect(await covering(ALICE, 'run_2')).toBeUndefined();
        expect(await covering(ALICE, 'run_1', 'other')).toBeUndefined();
      });

      test('cover a port in their run, and no other port or run', async () => {
        const any = await approve('run', 1, { args: { target_port: 3001 } });
        const id = await approve('port');
        expect(await covering()).toMatchObject({ id, runId: 'run_1', targetPort: 3000 });
        expect((await covering(ALICE, 'run_1', 'start_preview', 3002))?.id).toBe(any);
        expect(await covering(ALICE, 'run_2')).toBeUndefined();
      });

      test('are made for a port only if the request names one', async () => {
        const { id } = await ask(0, { args: {} });
        const deciding = decide(id, 1, decision('approved', { scope: 'port' }));
        await expect(deciding).rejects.toMatchObject({ code: 'invalid_request' });
        expect(await stand(id)).toBe('waiting');
      });

      test('cover what was denied in the run only once the same is approved', async () => {
        const settle = async (outcome: Decision['outcome'], args: ApprovalRequest['args']) => {
          const { id } = await ask(0, { args });
          await decide(id, 1, decision(outcome));
          await records.approvals.take(id, minutes(1));
        };
        const isCovered = async (...args: ApprovalRequest['args'][]) => {
          const found = args.map((each) => peer.policies.covering(ALICE, 'run_1', 'start_preview', each));
          return (await Promise.all(found)).map((each) => each !== undefined);
        };
        const [open, rotate] = [{ target_port: 3000 }, { target_port: 3000, rotate: true }];
        await settle('denied', { ...rotate, generation: 1 });
        await approve('always', 1, { args: { target_port: 3001 } });
        expect(await isCovered(open, rotate, { target_port: 3001 })).toEqual([false, false, true]);
        await settle('approved', open);
        expect(await isCovered(open, rotate)).toEqual([false, false]);
        await approve('port', 1, { args: open });
        expect(await isCovered(open, rotate)).toEqual([true, false]);
        await settle('denied', { ...open, generation: 2 });
        expect(await isCovered(open, rotate)).toEqual([false, false]);
        await settle('approved', { ...rotate, generation: 2 });
        expect(await isCovered(open, rotate)).toEqual([true, true]);
      });

      test('cover all runs of their owner only, for the scope of an owner', async () => {
        const id = await approve('always');
        expect(await covering(ALICE, 'run_2')).toMatchObject({ id, runId: null });
        expect(await covering(BOB)).toBeUndefined();
        expect(await covering({ user: 'alice', org: 'other' })).toBeUndefined();
        expect(await covering(ALICE, 'run_1', 'other')).toBeUndefined();
      });

      test('belong to the owner of the run, not to the approver', async () => {
        await records.runs.create(aRun('run_2', { owner: BOB }));
        await approve('always', 1, { runId: 'run_2' });
        expect(await covering(BOB, 'run_3')).toMatchObject({ owner: BOB, createdBy: 'carol' });
      });

      test('apply, for the scope of a run, before those of its owner', async () => {
        const always = await approve('always');
        const own = await approve('run', 1, { args: {} });
        expect((await covering())?.id).toBe(own);
        expect((await covering(ALICE, 'run_2'))?.id).toBe(always);
      });

      test('made twice are one, so that deleting it ends it', async () => {
        const first = await approve('always');
        await approve('always', 2, { args: {} });
        expect((await records.policies.list(ALICE, { limit: 10 })).items.map(({ id }) => id)).toEqual([
          first,
        ]);
        expect(await peer.policies.delete(first)).toBe(true);
        expect(await records.policies.delete(first)).toBe(false);
        expect(await covering()).toBeUndefined();
        expect(await records.policies.get(first)).toBeUndefined();
      });

      test('are not made by a denial', async () => {
        const { id } = await ask(0);
        await decide(id, 1, decision('denied', { scope: 'always' }));
        expect(await covering()).toBeUndefined();
      });

      test('approve what waits in the run for the same tool and is not due', async () => {
        const due = await ask(-4.5, { args: { port: 1 } });
        const others = [await ask(0, { args: { port: 2 } }), await ask(0, { args: { port: 3 } })];
        const foreign = await ask(0, { tool: 'other' });
        await approve('run');
        expect(await Promise.all([...others, foreign, due].map(({ id }) => stand(id)))).toEqual([
          'approved',
          'approved',
          'waiting',
          'waiting',
        ]);
        const { events } = await records.timeline.read('run_1', { after: 0, limit: 100 });
        expect(events.at(-1)).toMatchObject({
          type: 'tool.approved',
          data: { request_id: others[1]?.id, source: 'run_policy', decided_by: 'carol' },
        });
      });

      test('withdraw what waits in a completed run before its completion is published; its agent asks no more', async () => {
        const due = await ask(-5, { args: { port: 1 } });
        const [one, two] = [await ask(0), await ask(0, { args: { port: 2 } })];
        const completed = { type: 'run.completed', key: 'completed', data: {} } as const;
        await records.runs.complete('run_1', minutes(1), [completed]);
        expect(await Promise.all([due, one, two].map(({ id }) => stand(id)))).toEqual([
          'timed_out',
          'withdrawn',
          'withdrawn',
        ]);
        expect((await peer.approvals.get(one.id))?.endedAt).toEqual(minutes(1));
        expect((await reported()).slice(-4)).toEqual([
          `tool.timed_out ${due.id}`,
          `tool.withdrawn ${one.id}`,
          `tool.withdrawn ${two.id}`,
          'run.completed undefined',
        ]);
        const bounds = { keptSince: minutes(0), since: minutes(0), most: 9 };
        const waiter = { id: 'w', until: minutes(3) };
        const asking = records.approvals.ask(request(2), waiter, { ...bounds, byAgent: true });
        await expect(asking).rejects.toMatchObject({ code: 'run_ended' });
        expect((await ask(2)).status).toBe('waiting');
      });

      test('apply, for the scope of an owner, to what waits in other runs of this owner', async () => {
        await records.runs.create(aRun('run_2'));
        await records.runs.create(aRun('run_3', { owner: BOB }));
        const [mine, his] = [await ask(0, { runId: 'run_2' }), await ask(0, { runId: 'run_3' })];
        await ask(0, { runId: 'run_2', tool: 'other' });
        await approve('always');
        expect(await peer.approvals.runsWaiting(ALICE, 'start_preview')).toEqual(['run_2']);
        for (const id of ['run_2', 'run_3', 'run_none'])
          await records.approvals.applyPolicies(id, 'start_preview', minutes(1));
        expect([await stand(mine.id), await stand(his.id)]).toEqual(['approved', 'waiting']);
        expect((await reported('run_2')).at(-1)).toBe(`tool.approved ${mine.id}`);
      });

      test('are listed newest first, of one owner or of everybody, in pages', async () => {
        await records.runs.create(aRun('run_2', { owner: BOB }));
        const ids = [
          await approve('run', 1),
          await approve('always', 2, { args: {} }),
          await approve('run', 3, { runId: 'run_2' }),
        ];
        const list = async (owner?: typeof ALICE) =>
          (await peer.policies.list(owner, { limit: 10 })).items.map(({ id }) => id);
        expect(await list()).toEqual(ids.toReversed());
        expect(await list(ALICE)).toEqual([ids[1], ids[0]]);
        expect(await list(BOB)).toEqual([ids[2]]);
        const page = await records.policies.list(undefined, { limit: 2 });
        const rest = await records.policies.list(undefined, { limit: 2, after: page.next ?? '' });
        expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(ids.toReversed());
        expect(rest.next).toBeNull();
      });
    });
  });
}
