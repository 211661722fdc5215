import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApprovalScope } from '#core/approvals/approval-scopes.ts';
import type { ApprovalRequest, Decision, PolicyRecord } from '#core/approvals/approval-store.ts';
import type { Records } from '#core/records.ts';
import { approvalSteps, decision, request } from './approval-samples.ts';
import { ALICE, BOB, minutes, aRun } from './samples.ts';

/**
 * The contract of the records of approval policies, `peer` being a second instance on the same
 * database.
 */
export function policiesContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('policies', () => {
    let records: Records;
    let peer: Records;
    const { ask, decide, stand, reported } = approvalSteps(instances);
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.runs.create(aRun('run_1'));
    });

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
      expect((await records.policies.list(ALICE, { limit: 10 })).items.map(({ id }) => id)).toEqual([first]);
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
}
