import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import { approvalSteps, decision, request } from './approval-samples.ts';
import { ALICE, BOB, minutes, aRun } from './samples.ts';

/**
 * The contract of the lists of waiting approvals, `peer` being a second instance on the same
 * database.
 */
export function waitingApprovalsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { wakesPeers }: { readonly wakesPeers: boolean },
): void {
  describe('approvals that wait', () => {
    let records: Records;
    let peer: Records;
    const { ask, decide, stand } = approvalSteps(instances);
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.runs.create(aRun('run_1'));
    });

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
}
