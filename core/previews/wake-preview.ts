import { anySignal, inFlight, singleFlight, unlessAborted } from '#base/concurrency.ts';
import { actorOn, type Caller } from '../callers.ts';
import { awaitApp, type AwaitAppDeps } from '../processes/await-app.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from '../runs/run-records.ts';
import { sandboxNotFound } from '../sandboxes/resume-sandbox.ts';
import { readySandbox, type UseSandboxDeps } from '../sandboxes/use-sandbox.ts';
import type { KnownPreview } from './asleep-previews.ts';
import { type Admission, reachOf, type Visitor } from './preview-access.ts';
import type { Preview, Readiness } from './preview-plane.ts';
import { startPreview, type StartPreviewDeps } from './start-preview.ts';
import { decideWake, type Opening } from './wake-decision.ts';

/** Time that a request waits for a preview that starts, in milliseconds. */
const WAIT_MS = 10_000;
const HOUR_MS = 3_600_000;

export type WakeDeps = UseSandboxDeps & StartPreviewDeps & AwaitAppDeps;

export type WakeOutcome =
  | { readonly kind: 'awake' }
  /** It runs, and its app does not serve. */
  | { readonly kind: 'not_ready'; readonly readiness: Exclude<Readiness, { ready: true }> }
  /** Visitors have started previews of this link, or of this owner, too often. */
  | { readonly kind: 'too_often' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** What a visitor of a preview gets who may enter it. */
export type Opened =
  | { readonly kind: 'enter' }
  /** It was started: what was known of it may have changed. */
  | { readonly kind: 'awake' }
  | { readonly kind: 'ask' }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'wait' }
  | WakeOutcome;

interface OpenAsleep {
  readonly preview: KnownPreview;
  /** The preview, if it is live. */
  readonly live: Preview | undefined;
  readonly admitted: Admission;
  readonly visitor: Visitor;
  readonly request: Pick<Opening, 'method' | 'headers' | 'asked'>;
}

/**
 * Starts the preview that an admitted visitor opens, if it is asleep and the visitor may start it:
 * resumes its sandbox, in which the guest starts the declared servers, and serves the same URL
 * again. One start serves all visitors. It goes on when they leave.
 */
export async function openAsleep(
  deps: WakeDeps,
  { preview, live, admitted, visitor: { caller }, request }: OpenAsleep,
  signal?: AbortSignal,
): Promise<Opened> {
  const decision = decideWake({
    isAwake: await isServed(deps, live, signal),
    visitor: admitted.level === 'owner' ? 'owner' : caller?.kind === 'person' ? 'person' : 'anonymous',
    invitedBy: invitedBy(admitted, caller),
    ...request,
  });
  if (decision !== 'wake') return { kind: decision };
  const wake = { preview, run: admitted.run, caller };
  const waking =
    admitted.level === 'owner' ? wakePreview(deps, wake) : wakeWithin(deps, wake, admitted.visit.linkId);
  const patience = AbortSignal.timeout(WAIT_MS);
  try {
    return await unlessAborted(waking, anySignal(signal, patience));
  } catch (error) {
    if (error === patience.reason) return { kind: 'wait' };
    throw error;
  }
}

/** Resolves once a start of the preview that is under way is over, after ten seconds at most. */
export async function afterWaking(
  records: Pick<Records, 'sandboxes'>,
  token: string,
  signal?: AbortSignal,
): Promise<void> {
  const waking = inFlight(records.sandboxes, keyOf(token));
  if (waking === undefined) return;
  const patience = AbortSignal.timeout(WAIT_MS);
  try {
    await unlessAborted(waking, anySignal(signal, patience));
  } catch (error) {
    if (error !== patience.reason) throw error;
  }
}

function keyOf(token: string): string {
  return `wake preview ${token}`;
}

async function isServed(
  { sandboxes }: Pick<WakeDeps, 'sandboxes'>,
  live: Preview | undefined,
  signal?: AbortSignal,
): Promise<boolean> {
  if (live === undefined || live.isDetached === true) return false;
  return (await sandboxes.inspect(live.sandboxId, signal)).state === 'running';
}

/** Who reaches the level may open the preview without the link. */
function invitedBy({ access, link, run }: Admission, caller: Caller | undefined): Opening['invitedBy'] {
  const person = caller?.kind === 'person' ? caller : undefined;
  const isOpen = access.level === 'link' || access.level === 'password';
  if (person !== undefined && !isOpen && reachOf(access.level, run.owner, person) === 'reached')
    return 'level';
  if (link !== undefined) return link;
  // Anyone may know the URL or the password, also whom the owner has not invited.
  return 'secret';
}

interface Wake {
  readonly preview: KnownPreview;
  readonly run: RunRecord;
  readonly caller: Caller | undefined;
}

/** Counts one start, whatever the number of visitors who wait for it. */
async function wakeWithin(deps: WakeDeps, wake: Wake, linkId: string): Promise<WakeOutcome> {
  const { records, clock, previewSettings } = deps;
  const { token } = wake.preview;
  return singleFlight(records.access, `wake preview ${token} ${linkId}`, async () => {
    const isUnderWay = inFlight(records.sandboxes, keyOf(token)) !== undefined;
    // It may be awake since the visitor came.
    if (!isUnderWay && (await isServed(deps, await deps.plane.find(token)))) return { kind: 'awake' };
    const at = clock.now();
    const { maxWakesPerLink: perLink, maxWakesPerOwner: perOwner } = previewSettings;
    const isWithin =
      isUnderWay ||
      (await records.access.addWake({ owner: wake.run.owner, linkId, at }, new Date(at.getTime() - HOUR_MS), {
        perLink,
        perOwner,
      }));
    return isWithin ? wakePreview(deps, wake) : { kind: 'too_often' };
  });
}

/** Never rejects: visitors who wait must not repeat a failed start one after the other. */
function wakePreview(deps: WakeDeps, { preview, run, caller }: Wake): Promise<WakeOutcome> {
  const { records } = deps;
  return singleFlight(records.sandboxes, keyOf(preview.token), async () => {
    try {
      const sandbox = await records.sandboxes.get(preview.sandboxId);
      if (sandbox === undefined || sandbox.desired === 'destroyed') throw sandboxNotFound(preview.sandboxId);
      await readySandbox(deps, sandbox, { inspects: true });
      const by = caller === undefined ? 'traffic' : actorOn(run, caller);
      const started = await startPreview(deps, { run, targetPort: preview.targetPort, by });
      const readiness = await awaitApp(deps, started);
      return readiness.ready ? { kind: 'awake' } : { kind: 'not_ready', readiness };
    } catch (error) {
      return { kind: 'failed', error };
    }
  });
}
