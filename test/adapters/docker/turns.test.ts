import { describe, expect, test } from '@jest/globals';
import { Turns } from '#adapters/docker/exec/turns.ts';

describe('turns', () => {
  test('let two at a time do it for each key, the others in their order, whatever becomes of them', async () => {
    const turns = new Turns(2);
    const log: string[] = [];
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const begin = (key: string, name: string): Promise<void> =>
      turns.run(key, () => {
        log.push(name);
        const gate = Promise.withResolvers<void>();
        gates.set(name, gate);
        return gate.promise;
      });
    const all = [begin('a', '1'), begin('a', '2'), begin('a', '3'), begin('a', '4'), begin('b', '5')];
    expect(log).toEqual(['1', '2', '5']);
    gates.get('2')?.reject(new Error('no'));
    await expect(all[1]).rejects.toThrow('no');
    expect(log).toEqual(['1', '2', '5', '3']);
    gates.get('1')?.resolve();
    await all[0];
    for (const name of ['3', '4', '5']) {
      await Promise.resolve();
      gates.get(name)?.resolve();
    }
    await Promise.all([all[2], all[3], all[4]]);
    expect(log).toEqual(['1', '2', '5', '3', '4']);
    const again = begin('a', '6');
    expect(log.at(-1)).toBe('6');
    gates.get('6')?.resolve();
    await again;
  });
});
