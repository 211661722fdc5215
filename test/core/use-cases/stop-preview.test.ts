import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tokenSha256 } from '#core/rules/preview-token.ts';
import { stopPreview } from '#core/use-cases/stop-preview.ts';
import { codeOf, NOON, previewHouse } from './preview-house.ts';

describe('stopping a preview', () => {
  let house: Awaited<ReturnType<typeof previewHouse>>;
  beforeEach(async () => {
    house = await previewHouse();
  });
  afterEach(() => house.records.close());

  test('ends its URL for good, leaves a tombstone, and the next start has a new URL', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    await house.stop(run, preview.token);
    expect(house.plane.reaches(preview.token)).toBe(false);
    expect(await house.records.previews.tombstone(tokenSha256(preview.token))).toEqual({
      tokenSha256: tokenSha256(preview.token),
      runId: run.id,
      reason: 'stopped',
      at: NOON,
    });
    expect((await house.start(run)).preview.token).not.toBe(preview.token);
    expect((await house.start(run, 3001)).preview.token).toBe(house.tokens.preview('key-1', run.id, 3001, 0));
  });

  test('twice is not found the second time, and moves nothing', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    await house.stop(run, preview.token);
    expect(await codeOf(house.stop(run, preview.token))).toBe('preview_not_found');
    expect(await house.records.previews.generation(run.id, 3000)).toBe(1);
  });

  test("of another run's token is not found, and ends nothing", async () => {
    const [mine, other] = [await house.makeRun(), await house.makeRun()];
    const { preview } = await house.start(other);
    expect(await codeOf(house.stop(mine, preview.token))).toBe('preview_not_found');
    expect(house.plane.reaches(preview.token)).toBe(true);
    expect(await house.records.previews.generation(other.id, 3000)).toBe(0);
  });

  test('repeated after a crash in the middle finishes it, and ends no later URL', async () => {
    const run = await house.makeRun();
    const { preview: first } = await house.start(run);
    const crash = new Error('crash');
    const plane = { ...house.plane, close: () => Promise.reject(crash) };
    await expect(stopPreview({ ...house.deps, plane }, { run, token: first.token })).rejects.toBe(crash);
    const { preview: second } = await house.start(run);
    await house.stop(run, first.token);
    expect(house.plane.reaches(first.token)).toBe(false);
    expect((await house.start(run)).preview.uid).toBe(second.uid);
  });

  test('left in the middle by a crash is finished by the reaper', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    const plane = { ...house.plane, close: () => Promise.reject(new Error('crash')) };
    await stopPreview({ ...house.deps, plane }, { run, token: preview.token }).catch(() => undefined);
    expect(house.plane.reaches(preview.token)).toBe(true);
    expect((await house.reap()).reaped).toBe(1);
    expect(house.plane.reaches(preview.token)).toBe(false);
  });

  test('ends what was reaped and started anew between its first look and the revocation', async () => {
    const run = await house.makeRun();
    const { preview: first } = await house.start(run);
    const plane = {
      ...house.plane,
      find: async (token: string) => {
        const found = await house.plane.find(token);
        if (found?.uid === first.uid) {
          await house.plane.close(first);
          await house.start(run);
        }
        return found;
      },
    };
    await stopPreview({ ...house.deps, plane }, { run, token: first.token });
    expect(house.plane.reaches(first.token)).toBe(false);
  });
});
