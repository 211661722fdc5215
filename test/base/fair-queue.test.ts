import { describe, expect, test } from '@jest/globals';
import { FairQueue, type Place } from '#base/concurrency.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a fair queue', () => {
  /** Enters, and records `name` when it gets its slot. */
  const recorder = (queue: FairQueue) => {
    const given: string[] = [];
    const places: Place[] = [];
    const enter = async (owner: string, signal?: AbortSignal): Promise<void> => {
      const place = await queue.enter(owner, () => signal);
      given.push(place === undefined ? `${owner} refused` : owner);
      if (place !== undefined) places.push(place);
    };
    return { given, places, enter };
  };

  test('grants slots round-robin, however many one owner requests', async () => {
    const { given, places, enter } = recorder(new FairQueue({ perOwner: 2, total: 2, waiting: 10 }));
    for (const owner of ['ann', 'ann', 'ann', 'ann', 'ann', 'bob', 'cid', 'bob']) void enter(owner);
    await settled();
    expect(given).toEqual(['ann', 'ann']);
    for (let at = 0; at < 6; at += 1) {
      places[at]?.end();
      await settled();
    }
    expect(given).toEqual(['ann', 'ann', 'bob', 'cid', 'ann', 'bob', 'ann', 'ann']);
  });

  test('limits one owner while slots are free for others, and rejects beyond its queue', async () => {
    const { given, enter } = recorder(new FairQueue({ perOwner: 1, total: 5, waiting: 1 }));
    for (const owner of ['ann', 'ann', 'ann', 'bob']) void enter(owner);
    await settled();
    expect(given).toEqual(['ann', 'ann refused', 'bob'].sort((a, b) => given.indexOf(a) - given.indexOf(b)));
    expect(given).toHaveLength(3);
  });

  test('frees the global slot once its client sets the pace, and the owner’s slot at the end', async () => {
    const { given, places, enter } = recorder(new FairQueue({ perOwner: 1, total: 1, waiting: 5 }));
    for (const owner of ['ann', 'ann', 'bob']) void enter(owner);
    await settled();
    places[0]?.releaseSharedSlot();
    await settled();
    expect(given).toEqual(['ann', 'bob']);
    places[1]?.end();
    await settled();
    expect(given).toEqual(['ann', 'bob']);
    places[0]?.end();
    places[0]?.end();
    await settled();
    expect(given).toEqual(['ann', 'bob', 'ann']);
  });

  test('drops a waiter that is aborted', async () => {
    const { given, places, enter } = recorder(new FairQueue({ perOwner: 1, total: 1, waiting: 1 }));
    const gone = new AbortController();
    void enter('ann');
    const left = enter('ann', gone.signal);
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    void enter('ann');
    await settled();
    places[0]?.end();
    await settled();
    expect(given).toEqual(['ann', 'ann']);
  });
});
