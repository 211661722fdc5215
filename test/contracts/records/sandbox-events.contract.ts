import { beforeEach, describe, expect, test } from '@jest/globals';
import { NO_NETWORK } from '#core/network/network-policy.ts';
import type { Records } from '#core/records.ts';
import type { NewSandboxEvent } from '#core/sandboxes/sandbox-events.ts';
import { minutes, NOON, aSandbox } from './samples.ts';

const exec = (command: string, at = NOON): NewSandboxEvent => ({
  type: 'exec',
  at,
  data: { command, exit_code: 0 },
});

/**
 * The contract of a store of sandbox events, `peer` being a second instance on the same database.
 */
export function sandboxEventsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { wakesPeers }: { wakesPeers: boolean },
): void {
  describe('events of sandboxes', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.sandboxes.create(aSandbox('box'));
    });
    const commands = async (after = 0, limit = 1_000) =>
      (await peer.sandboxEvents.read('box', { after, limit })).events.map(({ seq, data }) => [
        seq,
        data['command'],
      ]);

    test('are read in their order, after any of them, a page at a time', async () => {
      await records.sandboxEvents.append('box', [exec('a'), exec('b')], 100);
      await peer.sandboxEvents.append('box', [exec('c', minutes(1))], 100);
      expect(await commands()).toEqual([
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ]);
      expect(await commands(2)).toEqual([[3, 'c']]);
      expect(await records.sandboxEvents.read('box', { after: 0, limit: 1 })).toEqual({
        events: [{ seq: 1, ...exec('a') }],
        more: true,
      });
    });

    test('are numbered without a gap, however many append at once', async () => {
      await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? records : peer).sandboxEvents.append('box', [exec(`a${n}`), exec(`b${n}`)], 100),
        ),
      );
      const reported = await commands();
      expect(reported.map(([seq]) => seq)).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
      expect(new Set(reported.map(([, command]) => command)).size).toBe(40);
    });

    test('are stored once per key, however many instances append them', async () => {
      const keyed = (key: string) => ({ ...exec(key), key });
      await Promise.all(
        [records, peer].map(({ sandboxEvents }) =>
          sandboxEvents.append('box', [keyed('a'), keyed('a'), keyed('b')], 100),
        ),
      );
      await records.sandboxEvents.append('box', [keyed('b'), exec('c')], 100);
      expect(await commands()).toEqual([
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ]);
    });

    test('are the last ones, and those of the sandbox that has the id now', async () => {
      for (let n = 1; n <= 5; n += 1) await records.sandboxEvents.append('box', [exec(`${n}`)], 3);
      expect(await commands()).toEqual([
        [3, '3'],
        [4, '4'],
        [5, '5'],
      ]);
      await records.sandboxes.setDesired('box', 'destroyed');
      await records.sandboxes.setObserved('box', 'destroyed');
      await records.sandboxEvents.append('box', [exec('too late')], 3);
      await records.sandboxes.create(aSandbox('box'));
      expect(await commands()).toEqual([]);
      await records.sandboxEvents.append('box', [exec('new')], 3);
      expect(await commands()).toEqual([[6, 'new']]);
    });

    test('are empty for an unknown sandbox', async () => {
      await records.sandboxEvents.append('unknown', [exec('a')], 3);
      expect(await records.sandboxEvents.read('unknown', { after: 0, limit: 10 })).toEqual({
        events: [],
        more: false,
      });
    });

    test('are read by type since a time, newest first', async () => {
      const file = { type: 'file_written', at: minutes(2), data: { path: 'a' } } as const;
      await records.sandboxEvents.append(
        'box',
        [exec('a'), exec('b', minutes(1)), file, exec('c', minutes(2))],
        10,
      );
      const since = async (limit: number) =>
        (await peer.sandboxEvents.since('box', 'exec', minutes(1), limit)).map(({ seq }) => seq);
      expect([await since(10), await since(1)]).toEqual([[4, 2], [4]]);
    });

    test('are forgotten once they are old', async () => {
      await records.sandboxEvents.append('box', [exec('a'), exec('b', minutes(2))], 10);
      expect(await records.sandboxEvents.forget(minutes(1))).toBe(1);
      expect(await commands()).toEqual([[2, 'b']]);
    });

    test('wake those who watch their sandbox', async () => {
      const heard = [records, ...(wakesPeers ? [peer] : [])].map((instance) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const unwatch = instance.sandboxEvents.watch('box', resolve);
        return promise.then(unwatch);
      });
      await records.sandboxEvents.append('box', [exec('a')], 10);
      await Promise.all(heard);
    });

    test('wake watchers of the network of a sandbox, in every instance', async () => {
      const heard = [records, ...(wakesPeers ? [peer] : [])].map((instance) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const unwatch = instance.sandboxes.watchNetwork('box', resolve);
        return promise.then(unwatch);
      });
      await records.sandboxes.setNetwork({ id: 'box', generation: 1 }, { ...NO_NETWORK, mode: 'open' });
      await Promise.all(heard);
    });
  });
}
