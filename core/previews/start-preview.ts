import { PortholeError } from '#base/errors.ts';
import { OPEN_ACCESS, type PreviewAccess } from '#protocol/preview-access.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Actor, NewEvent } from '../runs/timeline.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { countExceeded, quotaOf, type Quotas } from '../sandboxes/sandbox-quotas.ts';
import type { Clock, Owner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { revokePreview, type RevokePreviewDeps } from './live-previews.ts';
import {
  previewKept,
  previewOpened,
  previewReaped,
  previewStopped,
  type ReapReason,
} from './preview-events.ts';
import { isPastMaximum, maxUntil, slidingExpiry } from './preview-lifetime.ts';
import { mapsLocalhost } from '../sandboxes/sandbox-environment.ts';
import { checkNotBlocked } from './block-previews.ts';
import { implicitRunId } from './implicit-run.ts';
import { accessOf } from './preview-access.ts';
import { checkTargetPort, type PreviewOptions, tooManyPreviews } from './preview-limits.ts';
import type { Preview, PreviewFilter, PreviewPlane, Readiness } from './preview-plane.ts';
import { traced } from '../telemetry/tracing.ts';

interface EnforceCapsDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly clock: Clock;
  readonly previewSettings: PreviewOptions;
  readonly quotas: Quotas;
}

/**
 * Whether a start may continue with the preview that it opened under a generation. Returns false,
 * and deletes the preview, if a stop moved the generation: the stop may have run before the preview
 * existed. If the check fails, an unpublished preview is deleted as well.
 * @throws PortholeError `too_many_previews`, `quota_exceeded`, and what the records and the plane
 * throw
 */
async function enforceCaps(
  deps: EnforceCapsDeps,
  opened: { readonly preview: Preview; readonly created: boolean },
  generation: number,
  owner: Owner,
): Promise<boolean> {
  try {
    return await mayStay(deps, opened, generation, owner);
  } catch (error) {
    // Fails its precondition if another start has confirmed the preview.
    if (opened.created) await withdraw(deps, opened.preview).catch(() => undefined);
    throw error;
  }
}

async function mayStay(
  deps: EnforceCapsDeps,
  { preview: opened, created }: { readonly preview: Preview; readonly created: boolean },
  generation: number,
  owner: Owner,
): Promise<boolean> {
  const { plane, records, clock, previewSettings: options } = deps;
  const mostOfOwner = quotaOf(deps.quotas, owner).previews ?? undefined;
  /**
   * Records the end of a preview that another start opened, as that start may have recorded the
   * opening.
   */
  const appendIfOurs = async (events: readonly NewEvent[]) => {
    if (!created) await records.timeline.append(opened.runId, events, clock.now());
  };
  const reap = async (reason: ReapReason) => {
    const gone = await withdraw(deps, opened);
    if (gone) await appendIfOurs(previewReaped(opened, reason));
    return gone;
  };
  if (plane.hasUrls && isPastMaximum(opened, options, clock.now())) {
    // The reaper would end it within a minute: a new preview under the same URL serves the caller
    // longer.
    await reap('max_lifetime');
    return false;
  }
  // Concurrently: in a cluster each is a round trip.
  const [fitsRun, fitsOwner, current] = await Promise.all([
    plane.isAmongFirst(opened, options.maxPerRun),
    mostOfOwner === undefined || plane.isAmongFirst(opened, mostOfOwner, 'owner'),
    records.previews.generation(opened.runId, opened.targetPort),
    checkNotBlocked(deps, owner),
  ]);
  const excess = !fitsRun
    ? tooManyOfRun(opened.runId, options)
    : mostOfOwner !== undefined && !fitsOwner
      ? countExceeded('previews', mostOfOwner)
      : undefined;
  if (excess !== undefined) {
    if (!(await reap('over_cap')) && (await plane.find(opened.token))?.uid === opened.uid) return false;
    throw excess;
  }
  if (current === generation) return true;
  if (await plane.close(opened, { uid: opened.uid })) await appendIfOurs(previewStopped(opened));
  return false;
}

/** Delete only if uid and resourceVersion still match: a newer writer relies on the object. */
function withdraw({ plane }: EnforceCapsDeps, preview: Preview): Promise<boolean> {
  const { uid, version } = preview;
  return plane.close(preview, { uid, version });
}

function tooManyOfRun(runId: string, { maxPerRun }: Pick<PreviewOptions, 'maxPerRun'>): PortholeError {
  return new PortholeError(
    'too_many_previews',
    `Run ${runId} already has ${maxPerRun} live previews, the maximum of a run`,
    { remedy: 'stop one first.' },
  );
}

interface CheckRoomDeps {
  readonly plane: PreviewPlane;
  readonly previewSettings: PreviewOptions;
  readonly quotas: Quotas;
}

/**
 * Checks the caps for a preview under the token, before a person is asked. The start checks again,
 * in the order of opening.
 * @throws PortholeError `too_many_previews`, `quota_exceeded`
 */
export async function checkRoom(
  { plane, previewSettings: options, quotas }: CheckRoomDeps,
  { run, token }: { readonly run: RunRecord; readonly token: string },
  signal?: AbortSignal,
): Promise<void> {
  const count = async (most: number, filter: PreviewFilter) => {
    let others = 0;
    for await (const preview of plane.list(filter, signal)) {
      if (preview.token !== token) others += 1;
      if (others === most) break;
    }
    return others;
  };
  if ((await count(options.maxPerRun, { runId: run.id })) >= options.maxPerRun) {
    throw tooManyOfRun(run.id, options);
  }
  const { previews: most } = quotaOf(quotas, run.owner);
  if (most != null && (await count(most, { owner: run.owner.user })) >= most) {
    throw countExceeded('previews', most);
  }
  if ((await count(options.maxTotal, {})) >= options.maxTotal) {
    throw tooManyPreviews(`${options.maxTotal} previews of this installation`);
  }
}

interface CheckStartDeps {
  readonly sandboxes: Pick<Sandboxes, 'inspect'>;
  readonly previewSettings: PreviewOptions;
}

/**
 * The pod for a preview of the run's port, if port, run and sandbox permit one.
 * @throws PortholeError `invalid_port`, `port_out_of_range`, `run_ended`, `no_bound_sandbox`,
 * `forbidden` for an owner who may have no previews
 */
export async function checkStart(
  { sandboxes, records, previewSettings }: CheckStartDeps & { readonly records: Pick<Records, 'access'> },
  { run, targetPort }: { readonly run: RunRecord; readonly targetPort: number },
  signal?: AbortSignal,
): Promise<string> {
  checkTargetPort(targetPort, previewSettings);
  if (run.status === 'completed' && !previewSettings.keepAfterRun) {
    throw new PortholeError(
      'run_ended',
      `Run ${run.id} has completed and previews do not outlive runs here`,
      { remedy: 'make a new run.' },
    );
  }
  const [{ state, podName, reason }] = await Promise.all([
    sandboxes.inspect(run.sandboxId, signal),
    checkNotBlocked({ records }, run.owner),
  ]);
  if (state === 'running') return podName;
  throw new PortholeError(
    'no_bound_sandbox',
    `No bound sandbox for run ${run.id}: sandbox ${run.sandboxId} is ${state}${reason ? ` (${reason})` : ''}.`,
    {
      remedy: {
        absent: 'Make a new run.',
        creating: 'Try again once it runs.',
        stopped: `POST /v1/sandbox/${run.sandboxId}/resume starts it.`,
      }[state],
      retryable: state !== 'absent',
    },
  );
}

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
  /**
   * The approved generation of the port: if it has changed, a stop came first and wins.
   * @default the current one
   */
  readonly generation?: number | undefined;
}

/** Maximum attempts in a row that lose a race against a stop or the reaper. */
const MAX_ATTEMPTS = 4;

/**
 * Opens the preview of a run's port, or returns the live one with its expiry extended. Concurrent
 * starts of one run and port share one preview, because the token, and so the name, is derived.
 * `rotate` first revokes the current URL.
 * @throws PortholeError `invalid_port`, `port_out_of_range`, `run_ended`, `no_bound_sandbox`,
 * `too_many_previews`, `quota_exceeded`, `preview_conflict`
 */
export function startPreview(
  deps: StartPreviewDeps,
  start: PreviewStart,
  signal?: AbortSignal,
): Promise<StartedPreview> {
  const attributes = { 'porthole.run.id': start.run.id, 'porthole.preview.port': start.targetPort };
  return traced({ name: 'preview.start', attributes }, () => tryStarts(deps, start, signal));
}

async function tryStarts(
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

/** Known to every version of a guest. */
export function isDefaultAccess({ level, epoch }: PreviewAccess): boolean {
  return level === 'link' && epoch === 0;
}

function isSame(a: PreviewAccess, b: PreviewAccess): boolean {
  return a.level === b.level && a.epoch === b.epoch && a.revoked.length === b.revoked.length;
}

function stoppedMeanwhile({ run, targetPort }: PreviewStart): PortholeError {
  return new PortholeError(
    'preview_conflict',
    `Port ${targetPort} of run ${run.id} was stopped while it started`,
    { remedy: 'start it again.' },
  );
}

/**
 * The preview of the current generation, once it serves; undefined if a stop or the reaper ended it
 * meanwhile.
 */
async function startOnce(
  deps: StartPreviewDeps,
  start: PreviewStart,
  podName: string,
  signal: AbortSignal | undefined,
): Promise<StartedPreview | undefined> {
  const { plane, records, tokens, clock } = deps;
  const { run, targetPort, rotate, by } = start;
  const [generation, access, sandbox] = await Promise.all([
    records.previews.generation(run.id, targetPort),
    accessOf(deps, { runId: run.id, targetPort }),
    records.sandboxes.get(run.sandboxId),
  ]);
  // A rotating start has already incremented it once.
  const own = rotate === true ? 1 : 0;
  if (start.generation !== undefined && generation !== start.generation + own) throw stoppedMeanwhile(start);
  const startedAt = clock.now();
  const limit = maxUntil(startedAt, deps.previewSettings);
  const opened = await plane.open(
    {
      token: tokens.preview(run.tokenKid, run.id, targetPort, generation),
      runId: run.id,
      owner: run.owner.user,
      org: run.owner.org,
      sandboxId: run.sandboxId,
      podName,
      targetPort,
      startedAt,
      expiresAt: slidingExpiry(startedAt, limit, deps.previewSettings),
      maxUntil: limit,
      access: isDefaultAccess(access) ? undefined : access,
      mapsLocalhost: mapsLocalhost(sandbox?.env ?? {}),
      generation: sandbox && implicitRunId(sandbox) === run.id ? sandbox.generation : undefined,
    },
    signal,
  );
  const [mayStay, current] = await Promise.all([
    enforceCaps(deps, opened, generation, run.owner),
    accessOf(deps, { runId: run.id, targetPort }),
  ]);
  if (!mayStay) return undefined;
  const { preview, created } = opened;
  // It was opened before, or its access changed meanwhile.
  if (!isSame(current, preview.access ?? (created ? access : OPEN_ACCESS))) {
    await plane.setAccess(preview, current, signal);
  }
  const readiness = await plane.awaitReady(preview, signal);
  // Last step: the returned preview was live after all other work.
  if (!created && plane.hasUrls) {
    const expiry = slidingExpiry(clock.now(), preview.maxUntil, deps.previewSettings);
    const kept = await plane.touch(preview.token, run.id, expiry, signal);
    if (kept === undefined) return undefined;
    await records.timeline.append(run.id, previewKept(kept, by), clock.now());
    return { preview: kept, readiness };
  }
  // A process that ends it meanwhile records the opening too: the key prevents a duplicate.
  await records.timeline.append(run.id, previewOpened(preview, by), clock.now());
  const found = await plane.find(preview.token, signal);
  return found?.uid === preview.uid ? { preview: found, readiness } : undefined;
}

interface ReuseExistingDeps {
  readonly records: Pick<Records, 'timeline'>;
  readonly plane: PreviewPlane;
  readonly clock: Clock;
  readonly previewSettings: PreviewOptions;
}

/**
 * The live preview of the token, with its expiry extended. Undefined if it does not exist, is due,
 * or ends meanwhile: unlike a start this never opens one.
 */
export async function reuseExistingPreview(
  { records, plane, clock, previewSettings: options }: ReuseExistingDeps,
  { run, by }: PreviewStart,
  token: string,
  signal?: AbortSignal,
): Promise<StartedPreview | undefined> {
  const existing = await plane.find(token, signal);
  if (existing === undefined) return undefined;
  if (plane.hasUrls) {
    const now = clock.now();
    const isIdle = existing.expiresAt !== undefined && now >= existing.expiresAt;
    if (isIdle || isPastMaximum(existing, options, now)) return undefined;
    // Only a confirmed preview can be extended.
    const expiry = slidingExpiry(now, existing.maxUntil, options);
    if ((await plane.touch(token, run.id, expiry, signal)) === undefined) return undefined;
  }
  const readiness = await plane.awaitReady(existing, signal);
  // Last step: the returned preview was live after all other work.
  const found = await plane.find(token, signal);
  if (found?.uid !== existing.uid) return undefined;
  if (plane.hasUrls) await records.timeline.append(run.id, previewKept(found, by), clock.now());
  return { preview: found, readiness };
}
