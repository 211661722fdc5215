import { type DiagnoseSandboxDeps, diagnoseSandbox } from '../diagnosis/diagnose-sandbox.ts';
import { PortholeError } from '../errors.ts';
import { listPreviews } from '../previews/live-previews.ts';
import type { Actor } from '../previews/preview-events.ts';
import type { Preview, PreviewPlane } from '../previews/preview-plane.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Clock } from '../shared/clock-and-ids.ts';
import type { Records } from '../shared/records.ts';
import { classifyPage, type PageResult } from './classify-page.ts';
import type { PageBrowser, PageObservation, PageVisit } from './page-browser.ts';
import { pageLooked } from './page-report.ts';

export interface LookAtPageDeps extends DiagnoseSandboxDeps {
  readonly plane: PreviewPlane;
  readonly pages: PageBrowser;
  readonly records: Pick<Records, 'timeline'>;
  readonly clock: Clock;
}

/** A page of a run's preview to open. */
export interface PageRequest extends Omit<PageVisit, 'origin' | 'siblings'> {
  readonly run: RunRecord;
  readonly port: number;
  readonly by?: Actor | undefined;
}

export interface PageLook extends PageResult {
  readonly observation: PageObservation;
}

/**
 * Opens a live preview of the run in a browser, through the gateway, and reports whether it works.
 * Records the result in the run's timeline.
 * @throws PortholeError `preview_not_found` with the doctor's advice, `preview_not_enabled`, and
 * what `PageBrowser.observe` throws
 */
export async function lookAtPage(
  deps: LookAtPageDeps,
  { run, port, by, ...visit }: PageRequest,
  signal?: AbortSignal,
): Promise<PageLook> {
  const live = await listPreviews(deps, run, signal);
  const preview = live.find(({ targetPort }) => targetPort === port);
  if (preview === undefined) throw await notLive(deps, run, port, signal);
  const origin = originOf(preview);
  if (origin === undefined) {
    throw new PortholeError(
      'preview_not_enabled',
      'Previews have no URLs here (Sandbox__Preview__Enabled=false), so no browser can open them.',
    );
  }
  const siblings = live.flatMap((other) => {
    const at = other === preview ? undefined : originOf(other);
    return at === undefined ? [] : [{ origin: at, port: other.targetPort }];
  });
  const observed = await deps.pages.observe({ ...visit, origin, siblings }, run.owner.user, signal);
  const observation = await withAdvice(deps, run, port, observed, signal);
  const result = classifyPage(observation);
  const event = pageLooked({ port, path: visit.path, by }, result, deps.clock.now());
  await deps.records.timeline.append(run.id, [event], deps.clock.now());
  return { ...result, observation };
}

/** Adds the doctor's advice if the gateway's status page was shown. */
async function withAdvice(
  deps: LookAtPageDeps,
  run: RunRecord,
  port: number,
  observed: PageObservation,
  signal: AbortSignal | undefined,
): Promise<PageObservation> {
  if (observed.gateway === null) return observed;
  const { advice } = await diagnoseSandbox(deps, { run, port }, signal);
  return { ...observed, gateway: `${observed.gateway}. ${advice.replace(/\.$/, '')}` };
}

function originOf({ url }: Preview): string | undefined {
  return url === null ? undefined : new URL(url).origin;
}

async function notLive(
  deps: LookAtPageDeps,
  run: RunRecord,
  port: number,
  signal: AbortSignal | undefined,
): Promise<PortholeError> {
  const { advice } = await diagnoseSandbox(deps, { run, port }, signal);
  return new PortholeError(
    'preview_not_found',
    `Port ${port} has no live preview: start one (POST …/sandbox/port-forward), then look again. ${advice}`,
  );
}
