import { PortholeError } from '../errors.ts';
import type { Preview, Readiness } from '../ports/preview-plane.ts';
import type { RunRecord } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { isPastMaximum, maxUntil, slidingExpiry } from '../rules/preview-lifetime.ts';
import { checkTargetPort } from '../rules/target-port.ts';
import { revokePreview, type RevokePreviewDeps } from './revoke-preview.ts';

export interface StartPreviewDeps extends RevokePreviewDeps {
  readonly provider: Pick<SandboxProvider, 'inspect'>;
  readonly preview: PreviewOptions;
}

export interface StartedPreview {
  readonly preview: Preview;
  readonly readiness: Readiness;
}

/** A start that loses against stops or reapers this often in a row gives up; each loss means that somebody ended it in that instant. */
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
  if (rotate) await revokePreview(deps, { run, targetPort });

  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const started = await startOnce(deps, run, targetPort, podName, signal);
    if (started !== undefined) return started;
  }
  throw new PortholeError(
    'preview_conflict',
    `Port ${targetPort} of run ${run.id} was stopped while it started: start it again.`,
  );
}

/** The preview of the present generation, live once it serves; undefined when a stop or a reap came in between. */
async function startOnce(
  deps: StartPreviewDeps,
  run: RunRecord,
  targetPort: number,
  podName: string,
  signal: AbortSignal | undefined,
): Promise<StartedPreview | undefined> {
  const { plane, records, tokens, clock } = deps;
  const generation = await records.previews.generation(run.id, targetPort);
  const startedAt = clock.now();
  const limit = maxUntil(startedAt, deps.preview);
  const { preview, created } = await plane.open(
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
  try {
    if (!(await mayStay(deps, run, preview, generation))) return undefined;
  } catch (error) {
    // Nobody will hear of what this start has made, unless another start has met it since.
    if (created) await withdraw(deps, preview).catch(() => undefined);
    throw error;
  }
  const readiness = await plane.serves(preview, signal);
  // The last word: what is answered was live after everything else had been done.
  if (!created && plane.hasUrls) {
    const expiry = slidingExpiry(clock.now(), preview.maxUntil, deps.preview);
    const kept = await plane.touch(preview.token, run.id, expiry, signal);
    return kept && { preview: kept, readiness };
  }
  const found = await plane.find(preview.token, signal);
  return found?.uid === preview.uid ? { preview: found, readiness } : undefined;
}

/**
 * Whether the start may go on with what it opened. False, and it is gone, when it belongs to the past: a stop that read this generation may have
 * found nothing to delete, because we had not created it yet.
 * @throws PortholeError `too_many_previews`
 */
async function mayStay(
  deps: StartPreviewDeps,
  run: RunRecord,
  opened: Preview,
  generation: number,
): Promise<boolean> {
  const { plane, records, clock, preview: options } = deps;
  if (plane.hasUrls && isPastMaximum(opened, options, clock.now())) {
    // The reaper would end it within a minute: the caller is better served by a new life under the same URL.
    await withdraw(deps, opened);
    return false;
  }
  if (!(await plane.isAmongFirst(opened, options.maxPerRun))) {
    if (!(await withdraw(deps, opened)) && (await plane.find(opened.token))?.uid === opened.uid) return false;
    throw new PortholeError(
      'too_many_previews',
      `Run ${run.id} already has ${options.maxPerRun} live previews, which is the most a run may have: stop one first.`,
    );
  }
  if ((await records.previews.generation(run.id, opened.targetPort)) === generation) return true;
  await plane.close(opened, { uid: opened.uid });
  return false;
}

/** Only as it was opened: whoever has confirmed or kept it since judged by what stands now, and counts on it. */
function withdraw({ plane }: StartPreviewDeps, { name, uid, version }: Preview): Promise<boolean> {
  return plane.close({ name }, { uid, version });
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
