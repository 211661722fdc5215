import { describe, expect, test } from '@jest/globals';
import type { AccessLevel } from '#protocol/preview-access.ts';
import { approvalHarness } from './approval-harness.ts';

describe('the level that an approval names', () => {
  const { now, open, events, asked, decide, failure } = approvalHarness();
  const setLevel = (level: AccessLevel) =>
    now().harness.records.access.change(now().run.id, 3000, (known) => ({
      level,
      epoch: (known?.epoch ?? 0) + 1,
      revoked: [],
      password: null,
    }));
  const asking = async () =>
    (await events()).filter(({ type }) => type === 'tool.approval_required').map(({ data }) => data);

  test.each([
    ['owner', 'Only the owner of the run and admins can see the app.'],
    ['org', "Everyone in the owner's organisation can see the app."],
    ['signed_in', 'Everyone who is signed in can see the app.'],
    ['password', 'Everyone who knows its password can see the app.'],
    ['link', 'Anyone with the link can see the app.'],
  ] as const)('is %s in the event, with a sentence in the question', async (level, sentence) => {
    await setLevel(level);
    const opening = open();
    await decide(await asked());
    expect((await opening).preview.access?.level ?? 'link').toBe(level);
    expect(await asking()).toMatchObject([
      { level, message: `Open a live preview of port 3000? ${sentence}` },
    ]);
    expect((await events()).find(({ type }) => type === 'tool.approved')?.data).toMatchObject({ level });
  });

  test('refuses the start if more people could open it than were approved', async () => {
    await setLevel('org');
    const opening = failure(open());
    const id = await asked();
    await setLevel('signed_in');
    await decide(id);
    const { code, message } = await opening;
    expect(code).toBe('preview_conflict');
    expect(message).toContain('became signed_in while the approval of org was pending');
    expect(now().harness.plane.stored.size).toBe(0);

    const again = open();
    await decide(await asked(2));
    expect((await again).preview.access?.level).toBe('signed_in');
    expect((await asking()).map(({ level }) => level)).toEqual(['org', 'signed_in']);
  });

  test('opens if fewer people can open it than were approved', async () => {
    const opening = open();
    const id = await asked();
    await setLevel('owner');
    await decide(id);
    expect((await opening).preview.access?.level).toBe('owner');
  });
});
