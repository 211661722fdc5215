import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tokenSha256 } from '#core/previews/preview-token.ts';
import { stopPreview } from '#core/previews/live-previews.ts';
import { codeOf, NOON, previewHarness } from '../use-cases/preview-harness.ts';

describe('stopping a preview', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  beforeEach(async () => {
    harness = await previewHarness();
  });
  afterEach(() => harness.records.close());

  test('ends its URL permanently, leaves a tombstone, and gives the next start a new URL', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    await harness.stop(run, preview.token);
    expect(harness.plane.reaches(preview.token)).toBe(false);
    expect(await harness.records.previews.tombstone(tokenSha256(preview.token))).toEqual({
      tokenSha256: tokenSha256(preview.token),
      runId: run.id,
      reason: 'stopped',
      at: NOON,
    });
    expect((await harness.start(run)).preview.token).not.toBe(preview.token);
    expect((await harness.start(run, 3001)).preview.token).toBe(
      harness.tokens.preview('key-1', run.id, 3001, 0),
    );
  });

  test('returns not found the second time, and changes nothing', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    await harness.stop(run, preview.token);
    expect(await codeOf(harness.stop(run, preview.token))).toBe('preview_not_found');
    expect(await harness.records.previews.generation(run.id, 3000)).toBe(1);
  });

  test('returns not found for a token of another run, and ends nothing', async () => {
    const [mine, other] = [await harness.makeRun(), await harness.makeRun()];
    const { preview } = await harness.start(other);
    expect(await codeOf(harness.stop(mine, preview.token))).toBe('preview_not_found');
    expect(harness.plane.reaches(preview.token)).toBe(true);
    expect(await harness.records.previews.generation(other.id, 3000)).toBe(0);
  });

  test('completes a stop that crashed midway, and ends no later URL', async () => {
    const run = await harness.makeRun();
    const { preview: first } = await harness.start(run);
    const crash = new Error('crash');
    const plane = { ...harness.plane, close: () => Promise.reject(crash) };
    await expect(stopPreview({ ...harness.deps, plane }, { run, token: first.token })).rejects.toBe(crash);
    const { preview: second } = await harness.start(run);
    await harness.stop(run, first.token);
    expect(harness.plane.reaches(first.token)).toBe(false);
    expect((await harness.start(run)).preview.uid).toBe(second.uid);
  });

  test('lets the reaper complete a stop that crashed midway', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    const plane = { ...harness.plane, close: () => Promise.reject(new Error('crash')) };
    await stopPreview({ ...harness.deps, plane }, { run, token: preview.token }).catch(() => undefined);
    expect(harness.plane.reaches(preview.token)).toBe(true);
    expect((await harness.reap()).reaped).toBe(1);
    expect(harness.plane.reaches(preview.token)).toBe(false);
  });

  test('ends a preview that was reaped and restarted between its first read and the revocation', async () => {
    const run = await harness.makeRun();
    const { preview: first } = await harness.start(run);
    const plane = {
      ...harness.plane,
      find: async (token: string) => {
        const found = await harness.plane.find(token);
        if (found?.uid === first.uid) {
          await harness.plane.close(first);
          await harness.start(run);
        }
        return found;
      },
    };
    await stopPreview({ ...harness.deps, plane }, { run, token: first.token });
    expect(harness.plane.reaches(first.token)).toBe(false);
  });
});
