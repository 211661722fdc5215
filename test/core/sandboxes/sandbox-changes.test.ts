import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { LOCAL } from '#core/callers.ts';
import type { Records } from '#core/records.ts';
import type { SandboxObservation, Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import { completeRun, createRun } from '#core/runs/create-run.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { destroySandbox } from '#core/sandboxes/end-sandbox.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { openSandboxService } from '#test/support/open-sandbox-service.ts';
import { previewOptions } from '#test/support/preview-options.ts';
import { folderProvider } from '#test/races/folder-provider.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');

describe('the timeline of a run', () => {
  const clock = pinnedClock(NOON);
  let folder: string;
  let records: Records;
  let state: SandboxObservation['state'];
  let sandboxes: Sandboxes;
  /** The events received by followers of the sandbox. */
  let heard: string[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-telling-'));
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    state = 'running';
    const folders: TestProvider = {
      ...folderProvider(folder),
      inspect: async (id) => ({ state, podName: id }),
      stop: async () => void (state = 'stopped'),
      resume: async () => void (state = 'running'),
    };
    heard = [];
    sandboxes = await openSandboxService({
      provider: folders,
      records,
      clock,
      publisher: { publish: (id, type) => void heard.push(`${id} ${type}`) },
    });
  });
  afterEach(async () => {
    await records.close();
    rmSync(folder, { recursive: true });
  });

  const deps = () => ({
    records,
    sandboxes,
    clock,
    ids: numberedIds(),
    tokens: plainTokens(),
    installationId: 'here',
    provisionAccess: async () => {},
    pool: { take: async () => undefined },
    quotas: NO_QUOTAS,
    runSharing: 'private' as const,
    plane: memoryPreviewPlane({ clock }),
    previewSettings: previewOptions(),
    images: [],
  });
  const log = async (runId: string) =>
    (await records.timeline.read(runId, { after: 0, limit: 100 })).events.map(({ type, data }) => [
      type,
      data,
    ]);

  test('contains the run from creation to completion', async () => {
    const { run } = await createRun(deps(), LOCAL, { autoApproveTools: true, title: 'build a "site"' });
    const { sandboxId } = run;
    await completeRun(deps(), run);
    await completeRun(deps(), run);
    await destroySandbox({ records, sandboxes, clock }, { id: sandboxId, generation: 1 });
    await destroySandbox({ records, sandboxes, clock }, { id: sandboxId, generation: 1 });
    expect(await log(run.id)).toEqual([
      [
        'run.created',
        { owner: 'local', title: 'build a "site"', sandbox_id: sandboxId, auto_approve_tools: true },
      ],
      ['sandbox.created', { sandbox_id: sandboxId, image: null }],
      ['run.completed', {}],
      ['sandbox.stopped', { sandbox_id: sandboxId }],
      ['sandbox.destroyed', { sandbox_id: sandboxId }],
    ]);
  });

  test('contains each stop and restart of the sandbox once per run, with concurrent callers', async () => {
    const all = deps();
    const { run: first } = await createRun(all, LOCAL, { autoApproveTools: false });
    const { run: second } = await createRun(all, LOCAL, {
      autoApproveTools: false,
      sandboxId: first.sandboxId,
    });
    const id = first.sandboxId;
    for (let round = 0; round < 2; round += 1) {
      await Promise.all([sandboxes.stop(id), sandboxes.stop(id)]);
      clock.advance(2_000);
      await sandboxes.stop(id);
      await Promise.all([sandboxes.resume(id), sandboxes.resume(id)]);
      clock.advance(2_000);
      await sandboxes.resume(id);
    }
    expect(new Set(heard)).toEqual(new Set([`${id} stopped`, `${id} resumed`]));
    const changes = ['sandbox.stopped', 'sandbox.resumed', 'sandbox.stopped', 'sandbox.resumed'];
    expect((await log(first.id)).map(([type]) => type)).toEqual([
      'run.created',
      'sandbox.created',
      ...changes,
    ]);
    expect((await log(second.id)).map(([type]) => type)).toEqual(['run.created', ...changes]);
  });
});
