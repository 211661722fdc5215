import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccessLevel } from '#protocol/preview-access.ts';
import { visitPreview } from '../previews/visit-preview.ts';
import { type PreviewShare, shareAgentPreview } from '#core/previews/share-agent-preview.ts';
import { stopPreview } from '#core/previews/live-previews.ts';
import { approvalHarness } from './approval-harness.ts';

const HOUR = 3_600;

describe('a link that an agent asks for', () => {
  const { now, events, asked, decide, failure } = approvalHarness();
  beforeEach(async () => {
    await now().harness.start(now().run);
  });

  const share = (more: Partial<PreviewShare> = {}, on = now().deps) =>
    shareAgentPreview(on, {
      run: now().run,
      targetPort: 3000,
      level: 'link',
      label: 'carol',
      by: 'agent',
      ...more,
    });
  const setLevel = (level: AccessLevel) =>
    now().harness.records.access.change(now().run.id, 3000, () => ({
      level,
      epoch: 1,
      revoked: [],
      password: null,
    }));
  const asking = async () =>
    (await events()).filter(({ type }) => type === 'tool.approval_required').map(({ data }) => data);
  const links = () => now().harness.records.access.links(now().run.id, 3000);

  test('is made once the owner approves, and lets in whom the question names', async () => {
    await setLevel('owner');
    const sharing = share({ level: 'link', expiresIn: 24 * HOUR, maxUses: 1 });
    await decide(await asked());
    const { preview, link, secret } = await sharing;
    expect(await asking()).toMatchObject([
      {
        tool: 'share_preview:link',
        target_port: 3000,
        level: 'link',
        label: 'carol',
        message:
          'Share the preview of port 3000 by a link for “carol”? Anyone with the link can see the app. It ends after 1 day or after 1 visitor.',
      },
    ]);
    expect(link).toMatchObject({ label: 'carol', maxUses: 1, createdBy: 'agent' });
    expect(link.expiresAt?.getTime()).toBe(now().harness.clock.now().getTime() + 24 * HOUR * 1_000);
    const visitor = { caller: undefined, link: { id: link.id, secret } };
    expect(await visitPreview(now().deps, { preview, visitor })).toMatchObject({ kind: 'enters' });
    expect(JSON.stringify(await events())).not.toContain(secret);
  });

  test.each([
    ['org', "Everyone in the owner's organisation who has the link can see the app."],
    ['signed_in', 'Everyone who is signed in and has the link can see the app. It ends after 90 minutes.'],
  ] as const)('names the level %s', async (level, sentence) => {
    const sharing = share({ level, expiresIn: level === 'org' ? undefined : 90 * 60 });
    await decide(await asked());
    expect((await sharing).link.level).toBe(level);
    expect((await asking())[0]?.['message']).toBe(
      `Share the preview of port 3000 by a link for “carol”? ${sentence}`,
    );
  });

  test('is not made if the owner denies', async () => {
    const sharing = failure(share());
    await decide(await asked(), 'denied', { reason: 'not him' });
    expect((await sharing).code).toBe('approval_denied');
    expect(await links()).toEqual([]);
  });

  test('is the same for calls that wait for one approval, and another after it', async () => {
    const both = Promise.all([share(), share()]);
    await decide(await asked());
    const [first, second] = await both;
    expect([second.link.id, second.secret]).toEqual([first.link.id, first.secret]);
    expect(await links()).toHaveLength(1);
    const again = share();
    await decide(await asked(2));
    expect((await again).link.id).not.toBe(first.link.id);
  });

  test('is not approved by an option of the run if it lets in more people than the owner chose', async () => {
    const run = { ...now().run, autoApproveTools: true };
    await share({ run });
    expect(await asking()).toEqual([]);
    await setLevel('org');
    await share({ run, level: 'org' });
    expect(await asking()).toEqual([]);
    const wider = failure(share({ run, level: 'link' }));
    await decide(await asked(), 'denied');
    expect((await wider).code).toBe('approval_denied');
  });

  test('may start the preview only if the owner has approved that', async () => {
    const run = { ...now().run, autoApproveTools: true };
    const sharing = share({ run, mayWake: true });
    await decide(await asked(), 'approved', { scope: 'run' });
    expect((await sharing).link.mayWake).toBe(true);
    expect(await asking()).toMatchObject([
      {
        tool: 'share_preview:link:wake',
        may_wake: true,
        message:
          'Share the preview of port 3000 by a link for “carol”? Anyone with the link can see the app. They may start it while it is stopped.',
      },
    ]);
    await share({ mayWake: true, label: 'dave' });
    const other = share();
    await decide(await asked(2));
    expect((await other).link.mayWake).toBe(false);
    const reverse = share({ mayWake: true, level: 'org' });
    await decide(await asked(3));
    expect((await reverse).link.level).toBe('org');
  });

  test('is approved by a policy of the same level alone', async () => {
    const first = share({ level: 'org' });
    await decide(await asked(), 'approved', { scope: 'run' });
    await first;
    await share({ level: 'org', label: 'dave' });
    expect(await asking()).toHaveLength(1);
    const wider = share({ level: 'link' });
    await decide(await asked(2));
    await wider;
    expect((await asking()).map(({ level }) => level)).toEqual(['org', 'link']);
  });

  test('needs a live preview, also after the approval', async () => {
    expect((await failure(share({ targetPort: 3001 }))).code).toBe('preview_not_found');
    const sharing = failure(share());
    const id = await asked();
    const [preview] = now().harness.plane.stored.values();
    await stopPreview(now().deps, { run: now().run, token: preview?.token ?? '' });
    await decide(id);
    expect((await sharing).code).toBe('preview_not_found');
    expect(await links()).toEqual([]);
  });

  test('is never above the maximum of the installation', async () => {
    const deps = {
      ...now().deps,
      previewSettings: { ...now().deps.previewSettings, maxAccess: 'org' as const },
    };
    const { code, message } = await failure(share({ level: 'link' }, deps));
    expect([code, message]).toEqual(['invalid_request', expect.stringContaining('above the maximum')]);
    expect(await asking()).toEqual([]);
  });
});
