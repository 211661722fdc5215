import { beforeEach, describe, expect, test } from '@jest/globals';
import type { DraftLock, NewToolRun, SnapshotRecord } from '#core/editor/editor-store.ts';
import type { Records } from '#core/records.ts';
import { CUT_OFF, snapshot, SUCCESS, tool, toolRun, toolVersion } from './editor-samples.ts';
import { ALICE, BOB, hash, minutes, NOON } from './samples.ts';

/** The contract of the editor's records; `peer` is a second instance on the same database. */
export function editorContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('the editor', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.tools.create(tool('tool_1'), toolVersion('ver_1', 'tool_1'));
    });

    const lockOf = (token: number, until = 10, holder = ALICE): DraftLock => ({
      holder,
      tokenSha256: hash(token),
      expiresAt: minutes(until),
    });
    const claim = (token: number, at = 0) => ({
      toolId: 'tool_1',
      tokenSha256: hash(token),
      at: minutes(at),
    });
    const begin = (
      run: NewToolRun,
      made?: SnapshotRecord,
      { token = 1, at = 0, most = 9, snapshotBytes = 1_000_000 } = {},
    ) => records.toolRuns.begin(claim(token, at), run, made, { runs: most, snapshotBytes });

    describe('tools', () => {
      test('come back with their first version, which is the draft as well', async () => {
        const first = toolVersion('ver_2', 'tool_2', {
          entrypoint: 'main:go',
          sourceCode: 'a\n"\u{1f6f3}"\\u0000',
          language: 'node',
          inputSchema: null,
          settingsSchema: { type: 'object', properties: { a: { const: null } } },
          usageInstructions: "o'hara; drop table tools",
        });
        await records.tools.create(tool('tool_2', { owner: BOB }), first);
        expect(await peer.tools.get('tool_2')).toEqual(tool('tool_2', { owner: BOB }));
        expect(await peer.tools.version('ver_2')).toEqual({ ...first, number: 1 });
        const { id: _id, createdAt, createdBy, ...source } = first;
        expect(await peer.drafts.get('tool_2')).toEqual({
          ...source,
          versionId: 'ver_2',
          revision: 1,
          updatedAt: createdAt,
          updatedBy: createdBy,
          lock: null,
        });
      });

      test('take another name', async () => {
        expect(await records.tools.rename('tool_1', "o'hara")).toBe(true);
        expect(await peer.tools.get('tool_1')).toEqual(tool('tool_1', { name: "o'hara" }));
        expect(await records.tools.rename('x', 'y')).toBe(false);
      });

      test('are deleted with everything of theirs and nothing of others, unless they are being edited', async () => {
        await records.tools.create(tool('tool_2'), toolVersion('ver_2', 'tool_2'));
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        await begin(toolRun('trun_1', 'snap_1'), snapshot('snap_1'));
        await records.toolRuns.end('trun_1', SUCCESS, NOON);
        expect(await peer.tools.remove(claim(2))).toMatchObject({ kind: 'not_locked' });
        expect(await records.toolRuns.get('trun_1')).toBeDefined();
        expect(await peer.tools.remove(claim(1, 1))).toEqual({ kind: 'removed' });
        expect([
          await records.tools.get('tool_1'),
          await records.tools.version('ver_1'),
          await records.drafts.get('tool_1'),
          await records.toolRuns.get('trun_1'),
          await peer.tools.remove(claim(1, 1)),
        ]).toEqual([undefined, undefined, undefined, undefined, undefined]);
        expect(await records.toolSnapshots.expired(minutes(1), 9)).toEqual(['snap_1']);
        expect([(await records.tools.get('tool_2'))?.id, (await records.tools.version('ver_2'))?.id]).toEqual(
          ['tool_2', 'ver_2'],
        );
      });

      test('are undefined under an unknown id', async () => {
        expect([
          await records.tools.get('x'),
          await records.tools.version('x'),
          await records.drafts.get('x'),
          await records.toolRuns.get('x'),
          await records.toolSnapshots.get('x'),
          await records.tools.addVersion(toolVersion('ver_9', 'x')),
          await records.drafts.takeLock('x', lockOf(1), NOON),
          await records.drafts.save({ ...claim(1), toolId: 'x' }, {}, 'alice'),
        ]).toEqual(Array.from({ length: 8 }, () => undefined));
      });

      test('are listed newest first, of one owner or of all', async () => {
        await records.tools.create(
          tool('tool_2', { owner: BOB, createdAt: minutes(1) }),
          toolVersion('ver_2', 'tool_2'),
        );
        await records.tools.create(tool('tool_3', { createdAt: minutes(2) }), toolVersion('ver_3', 'tool_3'));
        const page = await peer.tools.list(undefined, { limit: 2 });
        const rest = await peer.tools.list(undefined, { limit: 2, after: page.next as string });
        const names = ({ items }: typeof page) => items.map(({ id }) => id);
        expect([names(page), names(rest), rest.next]).toEqual([['tool_3', 'tool_2'], ['tool_1'], null]);
        expect(names(await peer.tools.list(ALICE, { limit: 9 }))).toEqual(['tool_3', 'tool_1']);
      });

      test('get version numbers without a gap, however many versions are added at once', async () => {
        const added = await Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            (at % 2 ? peer : records).tools.addVersion(
              toolVersion(`new_${at}`, 'tool_1', { createdAt: minutes(at + 1) }),
            ),
          ),
        );
        expect(added.map((each) => each?.number).sort((a, b) => Number(a) - Number(b))).toEqual(
          Array.from({ length: 20 }, (_, at) => at + 2),
        );
        const { items, next } = await records.tools.versions('tool_1', { limit: 3 });
        expect([items.map(({ id }) => id), next === null]).toEqual([['new_19', 'new_18', 'new_17'], false]);
      });
    });

    describe('the lock of a draft', () => {
      test('goes to one of 50 concurrent callers, and each learns the holder', async () => {
        const locks = await Promise.all(
          Array.from({ length: 50 }, (_, at) =>
            (at % 2 ? peer : records).drafts.takeLock('tool_1', lockOf(at), NOON),
          ),
        );
        const existing = (await records.drafts.get('tool_1'))?.lock;
        expect(new Set(locks.map((each) => each?.tokenSha256))).toEqual(new Set([existing?.tokenSha256]));
      });

      test('goes to the next caller exactly when it expires', async () => {
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        expect(await peer.drafts.takeLock('tool_1', lockOf(2, 30, BOB), minutes(9))).toEqual(lockOf(1));
        expect(await peer.drafts.takeLock('tool_1', lockOf(2, 30, BOB), minutes(10))).toEqual(
          lockOf(2, 30, BOB),
        );
        expect((await records.drafts.get('tool_1'))?.lock).toEqual(lockOf(2, 30, BOB));
      });

      test('can be taken over by its own holder, or by a caller with the right', async () => {
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        expect(await peer.drafts.takeLock('tool_1', lockOf(2, 10, BOB), NOON, 'own')).toEqual(lockOf(1));
        expect(await peer.drafts.takeLock('tool_1', lockOf(3), NOON, 'own')).toEqual(lockOf(3));
        expect(await peer.drafts.takeLock('tool_1', lockOf(4, 10, BOB), NOON, 'any')).toEqual(
          lockOf(4, 10, BOB),
        );
      });

      test('is renewed by its token while it is active, and by nothing else', async () => {
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        expect([
          await peer.drafts.renewLock(claim(2), minutes(20)),
          await peer.drafts.renewLock(claim(1, 5), minutes(15)),
          await peer.drafts.renewLock(claim(1, 15), minutes(25)),
        ]).toEqual([false, true, false]);
        expect((await records.drafts.get('tool_1'))?.lock).toEqual(lockOf(1, 15));
      });

      test('is released by its token alone', async () => {
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        expect(await peer.drafts.releaseLock(claim(2))).toBe(false);
        expect(await peer.drafts.releaseLock(claim(1))).toBe(true);
        expect((await records.drafts.get('tool_1'))?.lock).toBeNull();
      });
    });

    describe('a draft', () => {
      test('takes what is changed, and counts its revisions', async () => {
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        const before = await records.drafts.get('tool_1');
        const change = { sourceCode: 'new', inputSchema: null, versionId: 'ver_0' };
        const draft = {
          ...before,
          ...change,
          revision: 2,
          updatedAt: minutes(1),
          updatedBy: 'bob',
        };
        expect(await peer.drafts.save(claim(1, 1), change, 'bob')).toEqual({ kind: 'saved', draft });
        expect(await records.drafts.get('tool_1')).toEqual(draft);
      });

      test('stays as it is without the active lock, and with another current revision', async () => {
        await records.drafts.takeLock('tool_1', lockOf(1), NOON);
        const kinds = [
          await peer.drafts.save(claim(2), { sourceCode: 'x' }, 'bob'),
          await peer.drafts.save(claim(1, 10), { sourceCode: 'x' }, 'bob'),
          await peer.drafts.save(claim(1), { sourceCode: 'x' }, 'bob', 2),
        ].map((each) => each?.kind);
        expect(kinds).toEqual(['not_locked', 'not_locked', 'stale']);
        expect((await records.drafts.get('tool_1'))?.revision).toBe(1);
      });
    });

    describe('runs', () => {
      beforeEach(() => records.drafts.takeLock('tool_1', lockOf(1, 100_000), NOON));

      test('are recorded as running with their snapshot, and end once', async () => {
        const made = snapshot('snap_1', { state: { a: [1] } });
        expect(await begin(toolRun('trun_1', 'snap_1'), made)).toEqual({ kind: 'begun' });
        expect(await peer.toolSnapshots.get('snap_1')).toEqual(made);
        const running = {
          ...toolRun('trun_1', 'snap_1'),
          status: 'running',
          outputs: null,
          nextActions: [],
          error: null,
          stdout: '',
          stderr: '',
          endedAt: null,
        };
        expect(await peer.toolRuns.get('trun_1')).toEqual(running);
        const kept = { sandboxId: 'box', state: { b: 2 } };
        expect(await peer.toolRuns.end('trun_1', SUCCESS, minutes(1), kept)).toBe(true);
        expect(await records.toolRuns.end('trun_1', { ...SUCCESS, status: 'failed' }, minutes(2))).toBe(
          false,
        );
        expect(await records.toolRuns.get('trun_1')).toEqual({ ...running, ...SUCCESS, endedAt: minutes(1) });
        expect(await records.toolSnapshots.get('snap_1')).toEqual({ ...made, ...kept });
      });

      test('need the active lock, a snapshot that is not over, and room', async () => {
        const made = snapshot('snap_1');
        const first = toolRun('trun_1', 'snap_1');
        expect(await begin(first, made, { token: 2 })).toMatchObject({ kind: 'not_locked' });
        expect(await begin(first)).toEqual({ kind: 'expired' });
        expect(await begin(first, made, { most: 0 })).toEqual({ kind: 'too_many', running: 0 });
        expect(await records.toolSnapshots.get('snap_1')).toBeUndefined();
        await begin(first, made);
        await records.toolRuns.end('trun_1', SUCCESS, NOON);
        expect(await begin(toolRun('trun_2', 'snap_1'), undefined, { at: 1_440 })).toEqual({
          kind: 'expired',
        });
        expect(await begin(toolRun('trun_2', 'snap_1'), undefined, { at: 1_439 })).toEqual({ kind: 'begun' });
      });

      test('run one at a time for a snapshot, however many are begun at once', async () => {
        await begin(toolRun('trun_0', 'snap_1'), snapshot('snap_1'));
        await records.toolRuns.end('trun_0', SUCCESS, NOON);
        const begun = await Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            (at % 2 ? peer : records).toolRuns.begin(claim(1), toolRun(`try_${at}`, 'snap_1'), undefined, {
              runs: 99,
              snapshotBytes: 1_000_000,
            }),
          ),
        );
        expect(await peer.toolSnapshots.underWay(ALICE, NOON)).toEqual(new Set(['snap_1']));
        expect(await peer.toolSnapshots.underWay(BOB, NOON)).toEqual(new Set());
        expect(await peer.toolSnapshots.underWay(ALICE, minutes(10))).toEqual(new Set());
        const [winner] = begun.flatMap(({ kind }, at) => (kind === 'begun' ? [`try_${at}`] : []));
        expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
        expect(begun.filter((each) => each.kind === 'busy' && each.runId === winner)).toHaveLength(19);
      });

      test('stay within what an owner may have under way, however many are begun at once', async () => {
        const begun = await Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            (at % 2 ? peer : records).toolRuns.begin(
              claim(1),
              toolRun(`try_${at}`, `snap_${at}`),
              snapshot(`snap_${at}`),
              { runs: 5, snapshotBytes: 1_000_000 },
            ),
          ),
        );
        expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(5);
        expect(begun.filter(({ kind }) => kind === 'too_many')).toHaveLength(15);
      });

      test('keep the snapshots of an owner within their byte limit, however many are begun at once', async () => {
        // 100 bytes each, beside entrypoint, language, schema and state.
        const sized = (id: string, rest: Partial<SnapshotRecord> = {}) =>
          snapshot(id, { sourceCode: 'x'.repeat(68) + 'é', ...rest });
        const bounds = { runs: 99, snapshotBytes: 550 };
        const begun = await Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            (at % 2 ? peer : records).toolRuns.begin(
              claim(1),
              toolRun(`try_${at}`, `snap_${at}`),
              sized(`snap_${at}`),
              bounds,
            ),
          ),
        );
        expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(5);
        expect(begun.filter((each) => each.kind === 'full' && each.bytes === 600)).toHaveLength(15);
        const more = (id: string, made?: SnapshotRecord, at = 0, rest: Partial<NewToolRun> = {}) =>
          records.toolRuns.begin(
            claim(1, at),
            toolRun(`more_${id}_${at}`, id, { deadline: minutes(9_999), ...rest }),
            made,
            bounds,
          );
        expect(await more('bob', sized('bob', { owner: BOB }), 0, { owner: BOB })).toEqual({ kind: 'begun' });
        const first = begun.findIndex(({ kind }) => kind === 'begun');
        const state = 'y'.repeat(52);
        // The state that an action leaves counts as well: 54 bytes instead of 4.
        await records.toolRuns.end(`try_${first}`, SUCCESS, NOON, { state });
        expect(await more(`snap_${first}`, undefined)).toEqual({ kind: 'begun' });
        await records.toolRuns.end(`more_snap_${first}_0`, SUCCESS, NOON, { state: `${state}y` });
        expect(await more(`snap_${first}`, undefined, 1)).toEqual({ kind: 'full', bytes: 551 });
        await records.drafts.takeLock('tool_1', lockOf(1, 2_000), minutes(5), 'own');
        expect(await more('late', sized('late', { expiresAt: minutes(2_000) }), 1_440)).toEqual({
          kind: 'begun',
        });
      });

      test('count for nothing after their deadline, and end as failed', async () => {
        await begin(toolRun('trun_1', 'snap_1'), snapshot('snap_1'));
        await begin(toolRun('trun_2', 'snap_2', { deadline: minutes(11) }), snapshot('snap_2'));
        expect(
          await begin(toolRun('trun_3', 'snap_1', { deadline: minutes(20) }), undefined, { at: 10, most: 2 }),
        ).toEqual({ kind: 'begun' });
        expect(await peer.toolRuns.failOverdue(minutes(10), CUT_OFF, 9)).toBe(1);
        expect(await records.toolRuns.get('trun_1')).toMatchObject({
          status: 'failed',
          error: CUT_OFF,
          endedAt: minutes(10),
        });
        expect(await peer.toolRuns.failOverdue(minutes(30), CUT_OFF, 1)).toBe(1);
        expect(await peer.toolRuns.failOverdue(minutes(30), CUT_OFF, 9)).toBe(1);
        expect(await peer.toolRuns.failOverdue(minutes(30), CUT_OFF, 9)).toBe(0);
      });

      test('are listed newest first', async () => {
        for (const at of [1, 2, 3]) {
          const run = toolRun(`trun_${at}`, `snap_${at}`, { createdAt: minutes(at) });
          await begin(run, snapshot(`snap_${at}`));
        }
        const { items, next } = await peer.toolRuns.list('tool_1', { limit: 2 });
        const rest = await peer.toolRuns.list('tool_1', { limit: 2, after: next as string });
        expect([...items, ...rest.items].map(({ id }) => id)).toEqual(['trun_3', 'trun_2', 'trun_1']);
        expect((await peer.toolRuns.list('tool_9', { limit: 2 })).items).toEqual([]);
      });
    });

    describe('snapshots that are over', () => {
      beforeEach(async () => {
        await records.drafts.takeLock('tool_1', lockOf(1, 100_000), NOON);
        for (const [name, until] of [
          ['late', 20],
          ['early', 10],
          ['busy', 10],
          ['live', 60],
        ] as const) {
          const run = toolRun(`trun_${name}`, name, { deadline: minutes(50) });
          await begin(run, snapshot(name, { expiresAt: minutes(until) }));
          if (name !== 'busy') await records.toolRuns.end(run.id, SUCCESS, NOON);
        }
      });

      test('are found oldest first, unless a run of theirs is under way', async () => {
        expect(await peer.toolSnapshots.expired(minutes(9), 9)).toEqual([]);
        expect(await peer.toolSnapshots.expired(minutes(10), 9)).toEqual(['early']);
        expect(await peer.toolSnapshots.expired(minutes(20), 9)).toEqual(['early', 'late']);
        expect(await peer.toolSnapshots.expired(minutes(20), 1)).toEqual(['early']);
        expect(await peer.toolSnapshots.expired(minutes(50), 9)).toEqual(['busy', 'early', 'late']);
      });

      test('are removed, and no others; their runs stay', async () => {
        const all = ['late', 'early', 'busy', 'live', 'unknown'];
        expect(await peer.toolSnapshots.remove(all, minutes(20))).toBe(2);
        expect(await peer.toolSnapshots.remove([], minutes(20))).toBe(0);
        expect(await Promise.all(all.map(async (id) => (await records.toolSnapshots.get(id))?.id))).toEqual([
          undefined,
          undefined,
          'busy',
          'live',
          undefined,
        ]);
        expect(await records.toolRuns.get('trun_early')).toMatchObject({ snapshotId: 'early' });
      });

      test('take their runs along once those are asked to go, oldest first, and none that is under way', async () => {
        const expiresAt = (until: number) => ({ snapshotExpiresAt: minutes(until), deadline: minutes(50) });
        for (const [name, until] of [
          ['a', 20],
          ['b', 10],
          ['c', 10],
          ['d', 60],
        ] as const) {
          const snap = snapshot(`of_${name}`, { expiresAt: minutes(until) });
          await begin(toolRun(`trun_${name}`, snap.id, expiresAt(until)), snap);
          if (name !== 'c') await records.toolRuns.end(`trun_${name}`, SUCCESS, NOON);
        }
        const kept = () =>
          Promise.all(
            ['a', 'b', 'c', 'd'].map(async (name) => (await peer.toolRuns.get(`trun_${name}`)) !== undefined),
          );
        expect(await peer.toolRuns.removeOlder(minutes(9), 9)).toBe(0);
        expect(await peer.toolRuns.removeOlder(minutes(20), 1)).toBe(1);
        expect(await kept()).toEqual([true, false, true, true]);
        expect(await peer.toolRuns.removeOlder(minutes(20), 9)).toBe(1);
        expect(await kept()).toEqual([false, false, true, true]);
      });
    });
  });
}
