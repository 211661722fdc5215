/** Whether previews lead to their sandbox or to the fallback, on a plane with a gateway. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import { attachPreviews, reconcileAttachment } from '#core/previews/attach-previews.ts';
import { changeAccess } from '#core/previews/preview-access.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { previewHarness } from '../use-cases/preview-harness.ts';

let harness: Awaited<ReturnType<typeof previewHarness>>;
let plane: PreviewPlane;
let run: RunRecord;
/** What was called, in order. */
let calls: string[];
let isGuestUp: boolean;
beforeEach(async () => {
  harness = await previewHarness();
  const { stored } = harness.plane;
  [calls, isGuestUp] = [[], true];
  plane = {
    ...harness.plane,
    seesTraffic: false,
    async setAttached({ name, uid }, isAttached) {
      const present = stored.get(name);
      calls.push(`${isAttached ? 'attach' : 'detach'} ${present?.targetPort}`);
      if (present?.uid === uid) stored.set(name, { ...present, isDetached: !isAttached });
    },
    async setAccess({ targetPort }, { level, epoch }) {
      if (!isGuestUp) throw new PortholeError('sandbox_not_running', 'It is stopped.');
      calls.push(`${level} ${epoch} for ${targetPort}`);
    },
  };
  run = await harness.makeRun();
  await harness.start(run, 3000);
  await harness.start(run, 3001);
  await harness.start(await harness.makeRun(), 3002);
});

const deps = () => ({ ...harness.deps, plane, ids: numberedIds() });
const detached = () =>
  [...harness.plane.stored.values()]
    .filter(({ isDetached }) => isDetached)
    .map(({ targetPort }) => targetPort);
const attach = (isRunning: boolean) => attachPreviews(deps(), run.sandboxId, isRunning);
const reconcile = async (desired: 'running' | 'stopped') => {
  const previews = [...harness.plane.stored.values()].filter(({ sandboxId }) => sandboxId === run.sandboxId);
  await reconcileAttachment(deps(), { id: run.sandboxId, desired }, previews);
};

test('detaches the previews of a sandbox that stops, and attaches them when it runs', async () => {
  await attach(false);
  expect(detached()).toEqual([3000, 3001]);
  await attach(false);
  await attach(true);
  expect(detached()).toEqual([]);
  await attach(true);
  expect(calls).toEqual(['detach 3000', 'detach 3001', 'attach 3000', 'attach 3001']);
});

test('brings the guest an access that was set while it was stopped, before visitors come', async () => {
  await attach(false);
  [calls, isGuestUp] = [[], false];
  const change = async () => {
    const [preview] = harness.plane.stored.values();
    if (preview !== undefined) await changeAccess(deps(), { preview, level: 'owner' });
  };
  await change();
  isGuestUp = true;
  await attach(true);
  expect(calls).toEqual(['owner 1 for 3000', 'attach 3000', 'attach 3001']);
  isGuestUp = false;
  await expect(change()).rejects.toMatchObject({ code: 'sandbox_not_running' });
});

test('leaves a preview detached if the guest does not take its access', async () => {
  await harness.records.access.change(run.id, 3000, () => ({
    level: 'owner',
    epoch: 1,
    revoked: [],
    password: null,
  }));
  await attach(false);
  isGuestUp = false;
  await expect(attach(true)).rejects.toMatchObject({ code: 'sandbox_not_running' });
  expect(detached()).toContain(3000);
});

describe('a pass', () => {
  test.each([
    ['running', 'running', []],
    ['running', 'creating', 'as before'],
    ['running', 'stopped', [3000, 3001]],
    ['running', 'absent', [3000, 3001]],
    ['stopped', 'running', [3000, 3001]],
  ] as const)('mends what leads elsewhere: wanted %s, found %s', async (desired, state, expected) => {
    harness.seen.state = state;
    for (const before of [[], [3000, 3001]]) {
      await attach(before.length === 0);
      await reconcile(desired);
      expect(detached()).toEqual(expected === 'as before' ? before : expected);
    }
    expect(detached()).not.toContain(3002);
  });
});
