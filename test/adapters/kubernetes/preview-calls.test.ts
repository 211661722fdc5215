import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { Records } from '#core/records.ts';
import { keepPreviewAlive, stopPreview } from '#core/previews/live-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { pinnedClock, type PinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { collect } from '#test/support/collect.ts';
import { BOX, NOON, type PlaneFixture, planeFixture, PREVIEW } from './plane-fixture.ts';
import { aRun } from '#test/contracts/records/samples.ts';

const MINUTE = 60_000;
const later = (minutes: number) => new Date(NOON.getTime() + minutes * MINUTE);

describe('what the API server is asked', () => {
  let records: Records;
  let fixture: PlaneFixture;
  let clock: PinnedClock;
  beforeEach(async () => {
    clock = pinnedClock(NOON);
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    fixture = await planeFixture({ clock });
  });
  afterEach(async () => {
    await fixture.close();
    await records.close();
  });
  const run = aRun('run_1', { sandboxId: BOX.id, createdAt: NOON });
  const deps = () => ({
    records,
    clock,
    plane: fixture.plane,
    tokens: plainTokens(),
    previewSettings: PREVIEW,
    quotas: NO_QUOTAS,
    sandboxes: { inspect: async () => ({ state: 'running', podName: BOX.podName }) as const },
  });
  const callsOf = async (does: () => Promise<unknown>) => {
    const before = fixture.server.calls.length;
    await does();
    return fixture.server.calls.slice(before).map(({ verb, plural }) => `${verb} ${plural}`);
  };
  const start = () => startPreview(deps(), { run, targetPort: BOX.listens });

  test('is two reads and two writes for a first start, besides the lookup of the sandbox', async () => {
    const [first, ...rest] = await callsOf(start);
    const last = rest.pop();
    // The read of the run overlaps the second write, so either may come first.
    expect([first, ...rest.toSorted(), last]).toEqual([
      'create services',
      'create httproutes',
      'list services',
      'get httproutes',
    ]);
  });

  test('is two reads and two writes for a start of a live preview', async () => {
    await start();
    expect(await callsOf(start)).toEqual([
      'create services',
      'get httproutes',
      'list services',
      'patch httproutes',
    ]);
  });

  test('is one call for a keepalive', async () => {
    const { preview } = await start();
    clock.advance(MINUTE);
    const calls = await callsOf(() => keepPreviewAlive(deps(), { run, token: preview.token }));
    expect(calls).toEqual(['patch httproutes']);
    expect((await fixture.plane.find(preview.token))?.expiresAt).toEqual(later(31));
  });

  test('is a refused call and a read for a keepalive of a foreign run', async () => {
    const { preview } = await start();
    const foreign = { ...run, id: 'run_2' };
    const calls = await callsOf(async () => {
      const kept = keepPreviewAlive(deps(), { run: foreign, token: preview.token });
      await expect(kept).rejects.toMatchObject({ code: 'preview_not_found' });
    });
    expect(calls).toEqual(['patch httproutes', 'get httproutes']);
  });

  test('is two reads and two deletions for a stop', async () => {
    const { preview } = await start();
    const calls = await callsOf(() => stopPreview(deps(), { run, token: preview.token }));
    expect(calls).toEqual(['get httproutes', 'get httproutes', 'delete httproutes', 'delete services']);
  });

  test('covers previews that may have expired, and those without readable times, for what is due', async () => {
    const specs = [5, 16, 29, 60].map((minutes) =>
      fixture.spec({ expiresAt: later(minutes), maxUntil: later(480) }),
    );
    const [soon, next, alive, far] = specs;
    for (const spec of specs) await fixture.plane.open(spec);
    const { store } = fixture.server;
    const forged = fixture.spec();
    const { preview } = await fixture.plane.open(forged);
    store.patch('httproutes', preview.name, 'application/merge-patch+json', {
      metadata: { labels: { [LABELS.dueSlot]: null }, annotations: { [ANNOTATIONS.expiresAt]: 'never' } },
    });
    const due = await collect(fixture.plane.list({ dueBefore: later(6) }));
    const tokens = due.map(({ token }) => token);
    expect(tokens).toContain(soon?.token);
    expect(tokens).not.toContain(next?.token);
    expect(tokens).not.toContain(alive?.token);
    // Further away than any idle window, so no keepalive can have granted it.
    expect(tokens).toContain(far?.token);
    expect(tokens).toContain(forged.token);
  });
});

describe('what is due', () => {
  test.each([-5, 0, 5])(
    'is listed once at the first call of a reaper that is %i minutes ahead',
    async (skew) => {
      const clock = pinnedClock(NOON);
      const fixture = await planeFixture({ clock });
      try {
        // In the first minute of a slot, which a slow clock has not reached.
        const { preview } = await fixture.plane.open(fixture.spec({ expiresAt: later(5) }));
        clock.advance(6 * MINUTE);
        const its = { now: () => new Date(clock.now().getTime() + skew * MINUTE) };
        const due = await collect(fixture.another(its).plane.list({ dueBefore: its.now() }));
        expect(due.map(({ token }) => token)).toEqual([preview.token]);
      } finally {
        await fixture.close();
      }
    },
  );
});

describe('a preview near the end of its life, under a policy that refuses an expiry past it', () => {
  test('is kept alive until that end by a refused patch, one read and a second patch', async () => {
    const fixture = await planeFixture({
      admit: (plural, { metadata: { annotations = {} } }) =>
        plural === 'httproutes' &&
        Date.parse(annotations[ANNOTATIONS.expiresAt] ?? '') >
          Date.parse(annotations[ANNOTATIONS.maxUntil] ?? '')
          ? 'expiry past max-until'
          : undefined,
    });
    try {
      const spec = fixture.spec();
      await fixture.plane.open(spec);
      const before = fixture.server.calls.length;
      const kept = await fixture.plane.touch(
        spec.token,
        spec.runId,
        new Date(spec.maxUntil.getTime() + MINUTE),
      );
      expect(kept?.expiresAt).toEqual(spec.maxUntil);
      const calls = fixture.server.calls.slice(before).filter(({ plural }) => plural === 'httproutes');
      expect(calls.map(({ verb }) => verb)).toEqual(['patch', 'get', 'patch']);
    } finally {
      await fixture.close();
    }
  });

  test('is not kept alive past its age, whatever its max-until says', async () => {
    const fixture = await planeFixture();
    try {
      const spec = fixture.spec({ maxUntil: later(10_000) });
      await fixture.plane.open(spec);
      const kept = await fixture.plane.touch(spec.token, spec.runId, later(5_000));
      expect(kept?.expiresAt).toEqual(later(480));
    } finally {
      await fixture.close();
    }
  });
});

describe('a start that is given up by its caller', () => {
  test.each(['create services', 'create httproutes'])(
    'during %s leaves nothing but what is swept',
    async (call) => {
      const fixture = await planeFixture();
      try {
        const caller = new AbortController();
        fixture.server.fault = ({ verb, plural }) => {
          if (`${verb} ${plural}` !== call) return undefined;
          caller.abort(new Error('gone home'));
          return undefined;
        };
        await expect(fixture.plane.open(fixture.spec(), caller.signal)).rejects.toThrow('gone home');
        fixture.server.fault = undefined;
        await fixture.plane.sweep(later(3));
        expect(fixture.server.store.all('httproutes')).toEqual([]);
        expect(fixture.server.store.all('services')).toEqual([]);
      } finally {
        await fixture.close();
      }
    },
  );
});
