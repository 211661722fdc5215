import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinnedClock as pinnedAt } from '#test/doubles/pinned-clock.ts';
import { editorOf } from '#test/host/support/editor.ts';
import { pinnedClock } from '#test/host/support/pinned-clock.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CODE = 'def run(i, c): return {"outputs": 1, "next_actions": [{"id": "go"}]}';

/** A tool, and a function that runs it. */
async function begin(porthole: TestHost) {
  const editor = editorOf(porthole);
  const tool = await editor.makeTool(CODE);
  const { records, sandboxes } = porthole.host.services;
  return {
    run: async () => editor.run(tool, await editor.takeLock(tool, { take_over: true })),
    sandboxOf: async (snapshotId: string) => (await records.toolSnapshots.get(snapshotId))?.sandboxId ?? '',
    states: (ids: readonly string[]) =>
      Promise.all(ids.map(async (id) => (await sandboxes.inspect(id)).state)),
    kept: async (ids: readonly string[]) =>
      (await Promise.all(ids.map((id) => records.toolSnapshots.get(id)))).map((each) => each !== undefined),
  };
}

describe('clean-up', () => {
  test('removes what is over with its sandbox, and nothing else', async () => {
    const clock = pinnedClock();
    const porthole = await startTestHost({}, { clock });
    try {
      const { run, sandboxOf, states, kept } = await begin(porthole);
      const old = await run();
      clock.advance({ hours: 12 });
      const young = await run();
      const own = (await porthole.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;
      const ids = [old.snapshot_id, young.snapshot_id];
      const sandboxes = [await sandboxOf(old.snapshot_id), await sandboxOf(young.snapshot_id), own];
      expect(await states(sandboxes)).toEqual(['running', 'running', 'running']);
      expect(await porthole.host.cleanSnapshots()).toEqual({ snapshots: 0, runs: 0, oldRuns: 0 });
      clock.advance({ hours: 12 });
      expect(await porthole.host.cleanSnapshots()).toEqual({ snapshots: 1, runs: 0, oldRuns: 0 });
      expect(await states(sandboxes)).toEqual(['absent', 'running', 'running']);
      expect(await kept(ids)).toEqual([false, true]);
      expect(await porthole.host.cleanSnapshots()).toEqual({ snapshots: 0, runs: 0, oldRuns: 0 });
      expect(await editorOf(porthole).read(old.run_id)).toMatchObject({
        snapshot_id: old.snapshot_id,
        status: 'succeeded',
      });
    } finally {
      await porthole.end();
    }
  });

  test('forgets a run so many days after its snapshot, and not before', async () => {
    const clock = pinnedClock();
    const porthole = await startTestHost({ SNAPSHOT_RUN_RETENTION_DAYS: '2' }, { clock });
    try {
      const { run } = await begin(porthole);
      const old = await run();
      const read = () => porthole.call('GET', `/api/v1/editor/tool-runs/${old.run_id}`);
      clock.advance({ hours: 24 + 48, seconds: -1 });
      expect(await porthole.host.cleanSnapshots()).toEqual({ snapshots: 1, runs: 0, oldRuns: 0 });
      expect((await read()).json()).toMatchObject({ snapshot_id: old.snapshot_id });
      clock.advance({ seconds: 1 });
      expect(await porthole.host.cleanSnapshots()).toEqual({ snapshots: 0, runs: 0, oldRuns: 1 });
      expect([(await read()).status, (await read()).json()]).toEqual([
        404,
        expect.objectContaining({ code: 'tool_run_not_found' }),
      ]);
    } finally {
      await porthole.end();
    }
  });

  test('leaves no sandbox behind when a run breaks it', async () => {
    const porthole = await startTestHost();
    try {
      const editor = editorOf(porthole);
      const tool = await editor.makeTool('import os\ndef run(i, c): os.kill(os.getppid(), 9)');
      const run = await editor.run(tool, await editor.takeLock(tool));
      expect(run).toMatchObject({ status: 'failed', error: { code: 'sandbox_failed' } });
      const { items } = await porthole.host.services.records.sandboxes.list(
        { user: 'editor', org: '' },
        { sessionKey: `sandbox:${run.snapshot_id}` },
        { limit: 10 },
      );
      expect(items.filter(({ desired }) => desired !== 'destroyed')).toEqual([]);
    } finally {
      await porthole.end();
    }
  });

  test('comes with each new run as well, a few at a time', async () => {
    const clock = pinnedClock();
    const porthole = await startTestHost({ SNAPSHOT_TTL_HOURS: '1' }, { clock });
    try {
      const { run, kept } = await begin(porthole);
      const ids: string[] = [];
      for (let at = 0; at < 4; at += 1) {
        clock.advance({ seconds: 1 });
        ids.push((await run()).snapshot_id);
      }
      clock.advance({ hours: 1 });
      ids.push((await run()).snapshot_id);
      expect(await kept(ids)).toEqual([false, false, false, true, true]);
    } finally {
      await porthole.end();
    }
  });

  test('stops the sandboxes of a person beyond the newest eight; an action wakes its own', async () => {
    const clock = pinnedClock();
    const porthole = await startTestHost({}, { clock });
    try {
      const { run, sandboxOf, states } = await begin(porthole);
      const runs = [];
      for (let at = 0; at < 10; at += 1) {
        clock.advance({ seconds: 1 });
        runs.push(await run());
      }
      const first = runs[0] ?? (await run());
      const oldest = await sandboxOf(first.snapshot_id);
      expect(await states([oldest])).toEqual(['stopped']);
      const editor = editorOf(porthole);
      const tool = await porthole.host.services.records.toolRuns.get(first.run_id);
      const lock = await editor.takeLock(
        { tool_id: tool?.toolId ?? '', version_id: '' },
        { take_over: true },
      );
      expect((await editor.act(first, lock, 'go')).status).toBe('succeeded');
      expect(await states([oldest])).toEqual(['running']);
    } finally {
      await porthole.end();
    }
  });

  test('removes a sandbox with its run when no action can follow', async () => {
    const porthole = await startTestHost();
    try {
      const editor = editorOf(porthole);
      const tool = await editor.makeTool('def run(i, c): return {"outputs": 1}');
      const run = await editor.run(tool, await editor.takeLock(tool));
      const snapshot = await porthole.host.services.records.toolSnapshots.get(run.snapshot_id);
      const { state } = await porthole.host.services.sandboxes.inspect(snapshot?.sandboxId ?? '');
      expect([snapshot === undefined, state]).toEqual([false, 'absent']);
    } finally {
      await porthole.end();
    }
  });

  test('cleans up without a host by npm run snapshots:clean, and leaves the work to a host that runs', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const words = scripts['snapshots:clean']?.split(' ').slice(1) ?? [];
    const porthole = await startTestHost({}, { clock: pinnedAt(new Date('2020-01-01T00:00:00Z')) });
    const clean = async () => {
      const { stdout } = await promisify(execFile)(process.execPath, words, {
        cwd: ROOT,
        env: { PATH: process.env['PATH'], PORTHOLE_DATA_DIR: porthole.dataDir, ...COMPILE_CACHE },
      });
      return stdout;
    };
    let isClosed = false;
    try {
      const { run, sandboxOf } = await begin(porthole);
      const folder = join(porthole.dataDir, 'sandboxes', await sandboxOf((await run()).snapshot_id));
      expect(existsSync(folder)).toBe(true);
      expect(await clean()).toMatch(/^A Porthole is running on this data folder/);
      expect(existsSync(folder)).toBe(true);
      await porthole.close();
      isClosed = true;
      expect(await clean()).toMatch(/"snapshots":1/);
      expect(existsSync(folder)).toBe(false);
    } finally {
      if (isClosed) await rm(porthole.dataDir, { recursive: true });
      else await porthole.end();
    }
  });
});
