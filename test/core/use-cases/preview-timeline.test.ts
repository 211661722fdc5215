import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RunRecord } from '#core/runs/run-records.ts';
import { tokenFingerprint } from '#core/previews/preview-token.ts';
import { keepPreviewAlive, stopPreview } from '#core/previews/live-previews.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { codeOf, HOUR, MINUTE, NOON, previewHarness } from './preview-harness.ts';

describe('preview events in the timeline of a run', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  let run: RunRecord;
  beforeEach(async () => {
    harness = await previewHarness();
    run = await harness.makeRun();
  });
  afterEach(() => harness.records.close());

  const events = async () => (await harness.records.timeline.read(run.id, { after: 0, limit: 1000 })).events;
  const types = async () => (await events()).map(({ type }) => type);
  const crash = () => Promise.reject(new Error('killed'));
  /** The records of a function that dies right before it publishes. */
  const silenced = () => ({
    ...harness.records,
    timeline: { ...harness.records.timeline, append: crash },
  });

  test('record that one was opened, kept alive and stopped, by which caller, without its token', async () => {
    const { preview } = await startPreview(harness.deps, { run, targetPort: 3000, by: 'agent' });
    harness.clock.advance(MINUTE);
    await keepPreviewAlive(harness.deps, { run, token: preview.token, by: 'owner' });
    harness.clock.advance(MINUTE);
    await stopPreview(harness.deps, { run, token: preview.token, by: 'admin' });
    const about = { target_port: 3000, preview: tokenFingerprint(preview.token) };
    expect(await events()).toEqual([
      {
        seq: 1,
        type: 'preview.opened',
        at: NOON,
        data: { ...about, expires_at: '2026-03-01T12:30:00.000Z', by: 'agent' },
      },
      {
        seq: 2,
        type: 'preview.kept',
        at: new Date(NOON.getTime() + MINUTE),
        data: { ...about, expires_at: '2026-03-01T12:31:00.000Z', by: 'owner' },
      },
      {
        seq: 3,
        type: 'preview.stopped',
        at: new Date(NOON.getTime() + 2 * MINUTE),
        data: { ...about, by: 'admin' },
      },
    ]);
    expect(JSON.stringify(await events())).not.toContain(preview.token);
  });

  test('record a keepalive at most once in ten minutes', async () => {
    const { preview } = await harness.start(run);
    for (let minute = 1; minute <= 25; minute += 1) {
      harness.clock.advance(MINUTE);
      await harness.keep(run, preview.token);
      await harness.start(run);
    }
    const kept = (await events()).filter(({ type }) => type === 'preview.kept');
    expect(kept.map(({ at }) => (at.getTime() - NOON.getTime()) / MINUTE)).toEqual([1, 11, 21]);
  });

  test.each([
    ['its idle window was over', 'idle', async () => harness.clock.advance(30 * MINUTE)],
    [
      'its longest life was over',
      'max_lifetime',
      async (token: string) => {
        for (let half = 1; half < 16; half += 1) {
          harness.clock.advance(29 * MINUTE);
          await harness.keep(run, token);
        }
        harness.clock.advance(46 * MINUTE);
      },
    ],
    [
      'its sandbox was destroyed',
      'orphaned',
      async () => {
        await harness.records.sandboxes.setObserved(run.sandboxId, 'destroyed');
        harness.clock.advance(HOUR);
      },
    ],
  ])('record the reason of a reaping: %s', async (_why, reason, pass) => {
    const { preview } = await harness.start(run);
    await pass(preview.token);
    expect((await harness.reap()).reaped).toBe(1);
    expect((await events()).at(-1)).toMatchObject({
      type: 'preview.reaped',
      data: { target_port: 3000, preview: tokenFingerprint(preview.token), reason },
    });
  });

  test('record a reopening under the same URL', async () => {
    await harness.start(run);
    harness.clock.advance(31 * MINUTE);
    await harness.reap();
    await harness.start(run);
    expect(await types()).toEqual(['preview.opened', 'preview.reaped', 'preview.opened']);
  });

  test('record that a start replaced one past its maximum lifetime', async () => {
    await harness.start(run);
    harness.clock.advance(8 * HOUR);
    await harness.start(run);
    expect(await types()).toEqual(['preview.opened', 'preview.reaped', 'preview.opened']);
    expect((await events())[1]?.data).toMatchObject({ reason: 'max_lifetime' });
  });

  test('record that a rotation stopped one and opened another', async () => {
    await harness.start(run);
    await harness.start(run, 3000, true);
    await harness.start(run, 3001, true);
    expect(await types()).toEqual(['preview.opened', 'preview.stopped', 'preview.opened', 'preview.opened']);
  });

  test('record nothing for rejected starts', async () => {
    for (const port of [3000, 3001, 3002]) await harness.start(run, port);
    expect(await codeOf(harness.start(run, 3003))).toBe('too_many_previews');
    expect(await codeOf(harness.start(run, 2000))).toBe('port_out_of_range');
    expect(await types()).toEqual(['preview.opened', 'preview.opened', 'preview.opened']);
  });

  test('record each change once, with concurrent callers', async () => {
    const starts = Array.from({ length: 10 }, () => harness.start(run));
    const [{ preview }] = (await Promise.all(starts)) as [Awaited<(typeof starts)[0]>];
    harness.clock.advance(31 * MINUTE);
    await Promise.all([harness.reap(), harness.reap(), harness.stop(run, preview.token)]);
    const reported = await types();
    expect(reported.filter((type) => type === 'preview.opened')).toHaveLength(1);
    expect(reported.filter((type) => type === 'preview.stopped' || type === 'preview.reaped')).toHaveLength(
      1,
    );
  });

  describe('after a function was killed before it could publish', () => {
    const startUntold = async () => {
      await expect(
        startPreview({ ...harness.deps, records: silenced() }, { run, targetPort: 3000 }),
      ).rejects.toThrow('killed');
      const [preview] = harness.plane.stored.values();
      if (preview === undefined) throw new Error('nothing was opened');
      return preview;
    };

    test('record the opening with the next start', async () => {
      await startUntold();
      await startPreview(harness.deps, { run, targetPort: 3000, by: 'owner' });
      expect(await types()).toEqual(['preview.opened', 'preview.kept']);
    });

    test('record the opening with the next keepalive', async () => {
      const { token } = await startUntold();
      await harness.keep(run, token);
      expect(await types()).toEqual(['preview.opened', 'preview.kept']);
    });

    test('record the opening with the end', async () => {
      const { token } = await startUntold();
      await harness.stop(run, token);
      await harness.start(run, 3001);
      harness.clock.advance(31 * MINUTE);
      await harness.reap();
      expect(await types()).toEqual([
        'preview.opened',
        'preview.stopped',
        'preview.opened',
        'preview.reaped',
      ]);
    });

    test('record a stop together with the revocation', async () => {
      const { preview } = await harness.start(run);
      const plane = { ...harness.plane, close: crash };
      await expect(
        stopPreview(
          { ...harness.deps, plane, records: silenced() },
          { run, token: preview.token, by: 'owner' },
        ),
      ).rejects.toThrow('killed');
      expect(await types()).toEqual(['preview.opened', 'preview.stopped']);
      expect((await harness.reap()).reaped).toBe(1);
      expect(await types()).toEqual(['preview.opened', 'preview.stopped']);
    });

    test('record a reaping without blocking the pass', async () => {
      await harness.start(run, 3000);
      await harness.start(run, 3001);
      harness.clock.advance(31 * MINUTE);
      await expect(reapPreviews({ ...harness.deps, records: silenced() })).rejects.toThrow(
        '2 expired previews could not be closed, or their events not be published',
      );
      expect(harness.plane.stored.size).toBe(0);
    });
  });

  test('record that a loopback session was opened and stopped', async () => {
    const plane = { ...harness.plane, hasUrls: false };
    const deps = { ...harness.deps, plane };
    const { preview } = await startPreview(deps, { run, targetPort: 3000, by: 'agent' });
    await startPreview(deps, { run, targetPort: 3000 });
    await stopPreview(deps, { run, token: preview.token, by: 'agent' });
    expect(await types()).toEqual(['preview.opened', 'preview.stopped']);
  });
});
