import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Preview, PreviewPlane, Readiness } from '../ports/preview-plane.ts';
import type { Records, RunRecord } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { Tokens } from '../ports/tokens.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { isPastCap } from '../rules/preview-cap.ts';
import { maxUntil, slidingExpiry } from '../rules/preview-lifetime.ts';
import { tokenSha256 } from '../rules/preview-token.ts';
import { checkTargetPort } from '../rules/target-port.ts';

export interface StartPreviewDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly provider: SandboxProvider;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly preview: PreviewOptions;
}

export interface StartedPreview {
  readonly preview: Preview;
  readonly readiness: Readiness;
}

/** A start that loses against stops this often in a row gives up; each loss means that somebody stopped it in that instant. */
const MAX_ATTEMPTS = 4;

/**
 * Opens the preview of a run's port, or returns the live one with its expiry moved. Simultaneous starts of one run and port meet in one preview,
 * because the token, and so the name, is derived. `rotate` first ends the present URL and opens a new one.
 *
 * @throws PortholeError `invalid_port`, `port_out_of_range`, `run_ended`, `no_bound_sandbox`, `too_many_previews`, `preview_conflict`
 */
export async function startPreview(
  deps: StartPreviewDeps,
  { run, targetPort, rotate = false }: { run: RunRecord; targetPort: number; rotate?: boolean },
  signal?: AbortSignal,
): Promise<StartedPreview> {
  checkTargetPort(targetPort, deps.preview);
  if (run.status === 'completed' && !deps.preview.keepAfterRun) {
    throw new PortholeError(
      'run_ended',
      `Run ${run.id} has completed and previews do not outlive runs here: make a new run.`,
    );
  }
  const podName = await boundPod(deps, run, signal);
  if (rotate) await endGeneration(deps, run, targetPort, signal);

  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const preview = await openCurrent(deps, run, targetPort, podName, signal);
    if (preview !== undefined) return { preview, readiness: await deps.plane.serves(preview, signal) };
  }
  throw new PortholeError(
    'preview_conflict',
    `Port ${targetPort} of run ${run.id} was stopped while it started: start it again.`,
  );
}

/** The preview of the present generation, kept within the cap; undefined when a stop or a reap came in between. */
async function openCurrent(
  deps: StartPreviewDeps,
  run: RunRecord,
  targetPort: number,
  podName: string,
  signal: AbortSignal | undefined,
): Promise<Preview | undefined> {
  const { plane, records, tokens, clock } = deps;
  const generation = await records.previews.generation(run.id, targetPort);
  const startedAt = clock.now();
  const limit = maxUntil(startedAt, deps.preview);
  const { preview: opened, created } = await plane.open(
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
  await withdrawPastCap(deps, run, opened, signal);
  // A stop that read this generation may have found nothing to delete, because we had not created it yet.
  if ((await records.previews.generation(run.id, targetPort)) !== generation) {
    await plane.close(opened, { uid: opened.uid }, signal);
    return undefined;
  }
  if (created || !plane.hasUrls) return opened;
  return plane.touch(opened.token, run.id, slidingExpiry(clock.now(), opened.maxUntil, deps.preview), signal);
}

async function withdrawPastCap(
  { plane, preview: options }: StartPreviewDeps,
  run: RunRecord,
  mine: Preview,
  signal: AbortSignal | undefined,
): Promise<void> {
  const live: Preview[] = [];
  for await (const preview of plane.list({ runId: run.id }, signal)) live.push(preview);
  if (!isPastCap(mine, live, options.maxPerRun)) return;
  await plane.close(mine, { uid: mine.uid }, signal);
  throw new PortholeError(
    'too_many_previews',
    `Run ${run.id} already has ${options.maxPerRun} live previews, which is the most a run may have: stop one first.`,
  );
}

async function boundPod(
  deps: StartPreviewDeps,
  run: RunRecord,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { state, podName, reason } = await deps.provider.inspect(run.sandboxId, signal);
  if (state === 'running') return podName;
  throw new PortholeError(
    'no_bound_sandbox',
    `No bound sandbox for run ${run.id}: sandbox ${run.sandboxId} is ${state}${reason ? ` (${reason})` : ''}. ` +
      (state === 'absent' ? 'Make a new run.' : 'Try again once it runs.'),
  );
}

/** Ends the present URL of the port, live or not, so that the next one is new. */
async function endGeneration(
  { records, plane, tokens, clock }: StartPreviewDeps,
  run: RunRecord,
  targetPort: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const generation = await records.previews.generation(run.id, targetPort);
  const token = tokens.preview(run.tokenKid, run.id, targetPort, generation);
  await records.previews.end(run.id, targetPort, generation, {
    tokenSha256: tokenSha256(token),
    runId: run.id,
    reason: 'stopped',
    at: clock.now(),
  });
  const live = await plane.find(token, signal);
  if (live !== undefined) await plane.close(live, { uid: live.uid }, signal);
}
