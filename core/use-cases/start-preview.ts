import { PortholeError } from '../errors.ts';
import type { Preview, Readiness } from '../ports/preview-plane.ts';
import type { RunRecord } from '../ports/run-records.ts';
import { type Actor, previewKept, previewOpened } from '../rules/preview-events.ts';
import { maxUntil, slidingExpiry } from '../rules/preview-lifetime.ts';
import { checkStart, type CheckStartDeps } from './check-start.ts';
import { revokePreview, type RevokePreviewDeps } from './revoke-preview.ts';
import { enforceCaps, type EnforceCapsDeps } from './enforce-caps.ts';

export interface StartPreviewDeps extends RevokePreviewDeps, CheckStartDeps, EnforceCapsDeps {}

export interface StartedPreview {
  readonly preview: Preview;
  readonly readiness: Readiness;
}

export interface PreviewStart {
  readonly run: RunRecord;
  readonly targetPort: number;
  /** @default false */
  readonly rotate?: boolean | undefined;
  readonly by?: Actor | undefined;
  /** The port's generation that was asked about: a start that finds another one was overtaken by a stop, which wins. @default whichever it finds */
  readonly generation?: number | undefined;
}

/** A start that loses against stops or reapers this often in a row gives up; each loss means that somebody ended it in that instant. */
const MAX_ATTEMPTS = 4;

/**
 * Opens the preview of a run's port, or returns the live one with its expiry moved. Simultaneous starts of one run and port meet in one preview,
 * because the token, and so the name, is derived. `rotate` first ends the present URL and opens a new one.
 *
 * @throws PortholeError `invalid_port`, `port_out_of_range`, `run_ended`, `no_bound_sandbox`,
 * `too_many_previews`, `quota_exceeded`, `preview_conflict`
 */
export async function startPreview(
  deps: StartPreviewDeps,
  start: PreviewStart,
  signal?: AbortSignal,
): Promise<StartedPreview> {
  const { run, targetPort, rotate, by } = start;
  const podName = await checkStart(deps, start, signal);
  if (rotate === true) await revokePreview(deps, { run, targetPort, by });

  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const started = await startOnce(deps, start, podName, signal);
    if (started !== undefined) return started;
  }
  throw stoppedMeanwhile(start);
}

function stoppedMeanwhile({ run, targetPort }: PreviewStart): PortholeError {
  return new PortholeError(
    'preview_conflict',
    `Port ${targetPort} of run ${run.id} was stopped while it started: start it again.`,
  );
}

/** The preview of the present generation, live once it serves; undefined when a stop or a reap came in between. */
async function startOnce(
  deps: StartPreviewDeps,
  start: PreviewStart,
  podName: string,
  signal: AbortSignal | undefined,
): Promise<StartedPreview | undefined> {
  const { plane, records, tokens, clock } = deps;
  const { run, targetPort, rotate, by } = start;
  const generation = await records.previews.generation(run.id, targetPort);
  // A start that rotates has moved it once itself.
  const own = rotate === true ? 1 : 0;
  if (start.generation !== undefined && generation !== start.generation + own) throw stoppedMeanwhile(start);
  const startedAt = clock.now();
  const limit = maxUntil(startedAt, deps.preview);
  const opened = await plane.open(
    {
      token: tokens.preview(run.tokenKid, run.id, targetPort, generation),
      runId: run.id,
      owner: run.owner.user,
      sandboxId: run.sandboxId,
      podName,
      targetPort,
      startedAt,
      expiresAt: slidingExpiry(startedAt, limit, deps.preview),
      maxUntil: limit,
    },
    signal,
  );
  if (!(await enforceCaps(deps, opened, generation, run.owner))) return undefined;
  const { preview, created } = opened;
  const readiness = await plane.serves(preview, signal);
  // The last word: what is answered was live after everything else had been done.
  if (!created && plane.hasUrls) {
    const expiry = slidingExpiry(clock.now(), preview.maxUntil, deps.preview);
    const kept = await plane.touch(preview.token, run.id, expiry, signal);
    if (kept === undefined) return undefined;
    await records.timeline.append(run.id, previewKept(kept, by), clock.now());
    return { preview: kept, readiness };
  }
  // Whoever may have ended it meanwhile tells that, too.
  await records.timeline.append(run.id, previewOpened(preview, by), clock.now());
  const found = await plane.find(preview.token, signal);
  return found?.uid === preview.uid ? { preview: found, readiness } : undefined;
}
