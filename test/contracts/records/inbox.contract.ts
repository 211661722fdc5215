import { beforeEach, describe, expect, test } from '@jest/globals';
import type { InboxMessage } from '#core/inbox/inbox-store.ts';
import type { Picture } from '#core/pages/page-browser.ts';
import type { Records } from '#core/records.ts';
import { ALICE, BOB, minutes, NOON, aRun } from './samples.ts';

export const PICTURE: Picture = { mediaType: 'image/jpeg', width: 3, height: 2, base64: 'AAEC' };

export function message(id: string, rest: Partial<InboxMessage> = {}): InboxMessage {
  return {
    id,
    runId: 'run_1',
    replyTo: null,
    by: 'owner',
    at: NOON,
    readAt: null,
    text: "O'Hara: too small 🐍\nreally",
    pin: {
      port: 3000,
      path: '/login',
      selector: '#save',
      role: 'button',
      name: 'Save',
      component: 'Form',
      place: { file: 'src/form.tsx', line: 7, column: null },
    },
    hasPicture: true,
    ...rest,
  };
}

/** The contract of the records of inboxes, `peer` being a second instance on the same database. */
export function inboxContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('inboxes', () => {
    let here: Records['inbox'];
    let there: Records['inbox'];
    let all: Records;
    beforeEach(async () => {
      const { records, peer } = instances();
      [here, there, all] = [records.inbox, peer.inbox, records];
      await records.runs.create(aRun('run_1'));
      await records.runs.create(aRun('run_2', { owner: BOB }));
    });
    const more = (id: string, most = 9) => ({
      owner: ALICE,
      most,
      event: { type: 'inbox.posted', key: `inbox:${id}`, data: { message: id } } as const,
    });

    test('give messages back as they were added, oldest first, with an event each', async () => {
      const one = message('msg_1');
      const two = message('msg_2', {
        at: minutes(1),
        by: 'agent',
        replyTo: 'msg_1',
        pin: null,
        hasPicture: false,
      });
      expect(await here.add(two, null, more('msg_2'))).toBe('added');
      expect(await here.add(one, PICTURE, more('msg_1'))).toBe('added');
      expect(await there.list('run_1', ALICE)).toEqual([one, two]);
      expect(await there.get('run_1', 'msg_1', ALICE)).toEqual({ ...one, picture: PICTURE });
      expect(await there.get('run_2', 'msg_1', BOB)).toBeUndefined();
      expect(await there.list('run_2', BOB)).toEqual([]);
      const { events } = await all.timeline.read('run_1', { after: 0, limit: 9 });
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['inbox.posted', { message: 'msg_2' }],
        ['inbox.posted', { message: 'msg_1' }],
      ]);
    });

    test('take as many messages as a run may have, however many come at once', async () => {
      const added = await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          (at % 2 ? here : there).add(message(`msg_${at}`), null, more(`msg_${at}`, 5)),
        ),
      );
      expect(added.filter((each) => each === 'added')).toHaveLength(5);
      expect(added.filter((each) => each === 'too_many')).toHaveLength(7);
      expect(await there.list('run_1', ALICE)).toHaveLength(5);
    });

    test('take none of a completed or unknown run', async () => {
      await all.runs.complete('run_1', NOON);
      expect(await here.add(message('msg_1'), null, more('msg_1'))).toBe('ended');
      expect(await here.add(message('msg_2', { runId: 'none' }), null, more('msg_2'))).toBe('ended');
      expect(await there.list('run_1', ALICE)).toEqual([]);
    });

    test('mark as read what the other side sent, once', async () => {
      await here.add(message('msg_1'), null, more('msg_1'));
      await here.add(message('msg_2', { by: 'agent' }), null, more('msg_2'));
      const ids = ['msg_1', 'msg_2', 'none'];
      await there.markRead('run_1', ids, { isAgent: true, at: minutes(1) });
      await there.markRead('run_1', ids, { isAgent: true, at: minutes(2) });
      await there.markRead('run_2', ids, { isAgent: false, at: minutes(3) });
      const read = async () => (await here.list('run_1', ALICE)).map(({ readAt }) => readAt);
      expect(await read()).toEqual([minutes(1), null]);
      await there.markRead('run_1', ids, { isAgent: false, at: minutes(4) });
      expect(await read()).toEqual([minutes(1), minutes(4)]);
    });
  });
}
