import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Records } from '#core/records.ts';
import { approvalSteps, decision, freshId, request } from './approval-samples.ts';
import { fresh, minutes, aRun } from './samples.ts';

/**
 * The contract of a store of approvals, `peer` being a second instance on the same
 * database.
 */
export function approvalsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { runs: propertyRuns }: { readonly runs: number },
): void {
  describe('approvals', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.runs.create(aRun('run_1'));
    });

    const { ask, decide, stand, reported } = approvalSteps(instances);

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
  });
}
