import { PortholeError } from '#base/errors.ts';
import { listPreviews } from '../previews/live-previews.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { DESKTOP } from './check-preview.ts';
import { classifyPage } from './classify-page.ts';
import { compareLooks } from './compare-looks.ts';
import { type LookAtPageDeps, openPage, type PageLook } from './look-at-page.ts';

export interface PageComparison {
  readonly one: PageLook;
  /** With the difference from `one`. */
  readonly other: PageLook;
}

/**
 * Opens the same page of two sandboxes, one after the other, and compares what is seen. Keeps no
 * look.
 * @throws PortholeError `preview_not_found`, and what `openPage` throws
 */
export async function comparePages(
  deps: LookAtPageDeps,
  sandboxes: readonly [SandboxRecord, SandboxRecord],
  { port, path }: { readonly port: number; readonly path: string },
  signal?: AbortSignal,
): Promise<PageComparison> {
  const [first, second] = sandboxes;
  const runs = [await runOf(deps, first, port, signal), await runOf(deps, second, port, signal)] as const;
  const visit = {
    port,
    path,
    viewport: DESKTOP,
    steps: [],
    waitFor: undefined,
    picture: { fullPage: false },
  };
  const seen = await openPage(deps, { ...visit, run: runs[0] }, signal);
  const at = deps.clock.now();
  const previous = seen.picture ?? undefined;
  const now = await openPage(deps, { ...visit, run: runs[1], previous }, signal);
  const { outline, console } = seen;
  return {
    one: { ...classifyPage(seen), observation: seen, difference: null },
    other: {
      ...classifyPage(now),
      observation: now,
      difference: compareLooks({ at, outline, console }, now),
    },
  };
}

/** The newest active run of the sandbox with a live preview of the port. */
async function runOf(
  deps: LookAtPageDeps,
  { id }: SandboxRecord,
  port: number,
  signal: AbortSignal | undefined,
): Promise<RunRecord> {
  const { runs } = deps.records;
  for (const runId of (await runs.inSandbox(id)).toReversed()) {
    const run = await runs.get(runId);
    if (run?.status !== 'running') continue;
    const live = await listPreviews(deps, run, signal);
    if (live.some(({ targetPort }) => targetPort === port)) return run;
  }
  throw new PortholeError('preview_not_found', `Port ${port} of sandbox ${id} has no live preview`, {
    remedy: 'start a preview of the port in a run of each sandbox, then compare again.',
  });
}
