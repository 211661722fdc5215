import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PortholeError } from '#base/errors.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { collect } from '#test/support/collect.ts';
import { codeOf, HOUR, MINUTE, NOON, previewHarness } from '../use-cases/preview-harness.ts';

describe('starting a preview', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  beforeEach(async () => {
    harness = await previewHarness();
  });
  afterEach(() => harness.records.close());

  test('opens it for half an hour, and for eight hours at most', async () => {
    const run = await harness.makeRun();
    const { preview, readiness } = await harness.start(run);
    expect(preview).toMatchObject({
      token: harness.tokens.preview('key-1', run.id, 3000, 0),
      runId: run.id,
      owner: 'alice',
      sandboxId: run.sandboxId,
      podName: `${run.sandboxId}-pod`,
      targetPort: 3000,
      startedAt: NOON,
      expiresAt: new Date('2026-03-01T12:30:00.000Z'),
      maxUntil: new Date('2026-03-01T20:00:00.000Z'),
    });
    expect(readiness).toEqual({ ready: true });
  });

  test('returns the live preview again, with a later expiry and the same maximum', async () => {
    const run = await harness.makeRun();
    const { preview: first } = await harness.start(run);
    harness.clock.advance(20 * MINUTE);
    const { preview: second } = await harness.start(run);
    expect(second).toEqual({
      ...first,
      expiresAt: new Date('2026-03-01T12:50:00.000Z'),
      version: second.version,
    });
  });

  test('is idempotent for any run and port, and shares no URL between two', async () => {
    const runs = [await harness.makeRun(), await harness.makeRun()];
    const urls = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(fc.nat(1), fc.integer({ min: 3000, max: 9000 }), async (which, port) => {
        const run = runs[which] as (typeof runs)[0];
        const [one, two] = await Promise.all([harness.start(run, port), harness.start(run, port)]);
        const three = await harness.start(run, port);
        expect(new Set([one, two, three].map(({ preview }) => `${preview.token} ${preview.uid}`)).size).toBe(
          1,
        );
        const { token } = one.preview;
        expect(urls.get(token) ?? `${run.id} ${port}`).toBe(`${run.id} ${port}`);
        urls.set(token, `${run.id} ${port}`);
        await harness.plane.close(one.preview);
      }),
      { numRuns: 1_000 },
    );
  });

  test('reopens the same URL after the reaper ended it', async () => {
    const run = await harness.makeRun();
    const { preview: first } = await harness.start(run);
    harness.clock.advance(31 * MINUTE);
    await harness.reap();
    const { preview: second } = await harness.start(run);
    expect([second.token, second.url]).toEqual([first.token, first.url]);
    expect(second.uid).not.toBe(first.uid);
    expect(second.maxUntil).toEqual(new Date('2026-03-01T20:31:00.000Z'));
  });

  test('reopens the same URL when the maximum lifetime is over and the reaper has not run', async () => {
    const run = await harness.makeRun();
    const { preview: first } = await harness.start(run);
    harness.clock.advance(8 * HOUR);
    const { preview: second } = await harness.start(run);
    expect(second.token).toBe(first.token);
    expect(second.uid).not.toBe(first.uid);
    expect(second.expiresAt).toEqual(new Date('2026-03-01T20:30:00.000Z'));
    expect((await harness.reap()).reaped).toBe(0);
  });

  test('reports the app state from the plane, and starts in any case', async () => {
    const run = await harness.makeRun();
    const plane = {
      ...harness.plane,
      awaitReady: async () => ({ ready: false, reason: 'nothing_listens' }) as const,
    };
    const { preview, readiness } = await startPreview({ ...harness.deps, plane }, { run, targetPort: 3000 });
    expect(readiness).toEqual({ ready: false, reason: 'nothing_listens' });
    expect(harness.plane.reaches(preview.token)).toBe(true);
  });

  test.each([
    ['port 0', 0, 'invalid_port'],
    ['port 65536', 65_536, 'invalid_port'],
    ['port 3000.5', 3000.5, 'invalid_port'],
    ['port 2999', 2999, 'port_out_of_range'],
    ['port 9001', 9001, 'port_out_of_range'],
  ])('rejects %s and creates nothing', async (_name, port, code) => {
    const run = await harness.makeRun();
    expect(await codeOf(harness.start(run, port))).toBe(code);
    expect(harness.plane.stored.size).toBe(0);
  });

  test.each([
    ['absent', false, /is absent\. Make a new run\.$/],
    ['creating', true, /is creating\. Try again once it runs\.$/],
    ['stopped', true, /is stopped\. POST \/v1\/sandbox\/[\w-]+\/resume starts it\.$/],
  ] as const)(
    'rejects while the sandbox is %s, and a later rotation keeps the URL',
    async (state, retryable, message) => {
      const run = await harness.makeRun();
      const { preview } = await harness.start(run);
      harness.seen.state = state;
      await expect(harness.start(run)).rejects.toMatchObject({
        code: 'no_bound_sandbox',
        message: expect.stringMatching(message),
        retryable,
      });
      expect(await codeOf(harness.start(run, 3000, true))).toBe('no_bound_sandbox');
      expect(harness.plane.reaches(preview.token)).toBe(true);
      expect(await harness.records.previews.generation(run.id, 3000)).toBe(0);
    },
  );

  test('starts for a completed run only if previews outlive runs', async () => {
    const run = { ...(await harness.makeRun()), status: 'completed' as const, completedAt: NOON };
    expect((await harness.start(run)).preview.runId).toBe(run.id);
    const strict = { ...harness.deps, previewSettings: { ...harness.previewSettings, keepAfterRun: false } };
    expect(await codeOf(startPreview(strict, { run, targetPort: 3001 }))).toBe('run_ended');
  });

  describe('at the cap', () => {
    test('rejects another preview, and keeps the three live ones', async () => {
      const run = await harness.makeRun();
      for (const port of [3000, 3001, 3002]) await harness.start(run, port);
      expect(await codeOf(harness.start(run, 3003))).toBe('too_many_previews');
      const live = await collect(harness.plane.list({ runId: run.id }));
      expect(live.map((preview) => preview.targetPort).sort((a, b) => a - b)).toEqual([3000, 3001, 3002]);
    });

    test('returns a live one, and opens another after one is stopped', async () => {
      const run = await harness.makeRun();
      const opened = [];
      for (const port of [3000, 3001, 3002]) opened.push((await harness.start(run, port)).preview);
      expect((await harness.start(run, 3002)).preview.uid).toBe(opened[2]?.uid);
      await harness.stop(run, opened[0]?.token ?? '');
      expect((await harness.start(run, 3003)).preview.targetPort).toBe(3003);
    });

    test('counts each run separately', async () => {
      const [one, other] = [await harness.makeRun(), await harness.makeRun()];
      for (const port of [3000, 3001, 3002]) await harness.start(one, port);
      expect((await harness.start(other, 3000)).preview.runId).toBe(other.id);
    });

    test('rotates without a free slot', async () => {
      const run = await harness.makeRun();
      for (const port of [3000, 3001, 3002]) await harness.start(run, port);
      expect((await harness.start(run, 3000, true)).preview.targetPort).toBe(3000);
      expect(harness.plane.stored.size).toBe(3);
    });
  });

  describe('rotating', () => {
    test('ends the current URL and opens a new one', async () => {
      const run = await harness.makeRun();
      const { preview: first } = await harness.start(run);
      const { preview: second } = await harness.start(run, 3000, true);
      expect(second.token).toBe(harness.tokens.preview('key-1', run.id, 3000, 1));
      expect(harness.plane.reaches(first.token)).toBe(false);
      expect(await codeOf(harness.keep(run, first.token))).toBe('preview_not_found');
    });

    test('ends a URL that is not live', async () => {
      const run = await harness.makeRun();
      const { preview: first } = await harness.start(run);
      harness.clock.advance(31 * MINUTE);
      await harness.reap();
      expect((await harness.start(run, 3000, true)).preview.token).not.toBe(first.token);
    });
  });

  describe('failing midway', () => {
    test('removes what it has opened', async () => {
      const run = await harness.makeRun();
      let reads = 0;
      const records = {
        ...harness.records,
        previews: {
          ...harness.records.previews,
          generation: async () => {
            if ((reads += 1) === 2) throw new PortholeError('service_unavailable', 'The database is away.');
            return 0;
          },
        },
      };
      expect(await codeOf(startPreview({ ...harness.deps, records }, { run, targetPort: 3000 }))).toBe(
        'service_unavailable',
      );
      expect(harness.plane.stored.size).toBe(0);
    });

    test('keeps a preview that it did not create', async () => {
      const run = await harness.makeRun();
      const { preview: live } = await harness.start(run);
      const records = {
        ...harness.records,
        previews: {
          ...harness.records.previews,
          generation: (() => {
            const answers = [
              Promise.resolve(0),
              Promise.reject(new PortholeError('service_unavailable', 'Away.')),
            ];
            answers[1]?.catch(() => undefined);
            return () => answers.shift() ?? Promise.resolve(0);
          })(),
        },
      };
      expect(await codeOf(startPreview({ ...harness.deps, records }, { run, targetPort: 3000 }))).toBe(
        'service_unavailable',
      );
      expect((await harness.plane.find(live.token))?.uid).toBe(live.uid);
    });

    test('gives up if the preview is stopped repeatedly while it starts', async () => {
      const run = await harness.makeRun();
      let generation = 0;
      const records = {
        ...harness.records,
        previews: { ...harness.records.previews, generation: async () => (generation += 1) },
      };
      expect(await codeOf(startPreview({ ...harness.deps, records }, { run, targetPort: 3000 }))).toBe(
        'preview_conflict',
      );
      expect(harness.plane.stored.size).toBe(0);
    });
  });
});
