import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { Records } from '#core/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { SandboxObservation } from '#core/sandboxes/sandbox-provider.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { keepPreviewAlive, stopPreview } from '#core/previews/live-previews.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { PortholeError } from '#base/errors.ts';
import { memoryPreviewPlane, type MemoryPlane } from '#test/doubles/memory-preview-plane.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock, type PinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { previewOptions } from '#test/support/preview-options.ts';
import { aRun, aSandbox } from '#test/contracts/records/samples.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const NOON = new Date('2026-03-01T12:00:00.000Z');

/** The use cases of previews on an in-memory plane and database, with a clock pinned at noon. */
export async function previewHarness(change: Partial<PreviewOptions> = {}) {
  const clock: PinnedClock = pinnedClock(NOON);
  const plane: MemoryPlane = memoryPreviewPlane({ clock, maxTotal: 20 });
  const records: Records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  const ids = numberedIds();
  const tokens = plainTokens();
  const seen = { state: 'running' as SandboxObservation['state'], reason: undefined as string | undefined };
  const sandboxes = {
    inspect: async (id: string): Promise<SandboxObservation> => ({ ...seen, podName: `${id}-pod` }),
  };
  const deps = {
    records,
    plane,
    sandboxes,
    tokens,
    clock,
    previewSettings: previewOptions(change),
    quotas: NO_QUOTAS,
  };

  const makeRun = async (): Promise<RunRecord> => {
    const owner = { user: 'alice', org: 'acme' };
    const sandboxId = ids.sandbox();
    await records.sandboxes.create(
      aSandbox(sandboxId, { owner, observed: 'running', createdAt: clock.now() }),
    );
    const run = aRun(ids.run(), { owner, sandboxId, createdAt: clock.now() });
    await records.runs.create(run);
    return run;
  };

  return {
    ...deps,
    deps,
    seen,
    makeRun,
    start: (run: RunRecord, targetPort = 3000, rotate = false) =>
      startPreview(deps, { run, targetPort, rotate }),
    stop: (run: RunRecord, token: string) => stopPreview(deps, { run, token }),
    keep: (run: RunRecord, token: string) => keepPreviewAlive(deps, { run, token }),
    reap: () => reapPreviews(deps),
  };
}

/** The error code of a call. */
export async function codeOf(failing: Promise<unknown>): Promise<string> {
  try {
    await failing;
  } catch (error) {
    if (error instanceof PortholeError) return error.code;
    throw error;
  }
  throw new Error('it did not fail');
}
