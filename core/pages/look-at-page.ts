import { type DiagnoseSandboxDeps, diagnoseSandbox } from '../diagnosis/diagnose-sandbox.ts';
import { PortholeError } from '#base/errors.ts';
import { createPass, type PassDeps } from '../previews/preview-access.ts';
import { listPreviews } from '../previews/live-previews.ts';
import type { Actor } from '../runs/timeline.ts';
import type { Preview, PreviewPlane } from '../previews/preview-plane.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Clock, Ids } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { TrafficCounter } from '../usage/traffic-counter.ts';
import { compareLooks, type LookDifference } from './compare-looks.ts';
import { classifyPage } from './classify-page.ts';
import { keptSince } from './look-store.ts';
import type { PageBrowser, PageObservation, PageVisit } from './page-browser.ts';
import type { PageResult } from './page-cause.ts';
import { pageLooked, summaryOf } from './page-report.ts';
import { traced } from '../telemetry/tracing.ts';

export interface LookAtPageDeps extends DiagnoseSandboxDeps {
  readonly plane: PreviewPlane;
  readonly pages: PageBrowser;
  readonly traffic: Pick<TrafficCounter, 'add'>;
  readonly records: Pick<Records, 'timeline' | 'looks'> & PassDeps['records'];
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'look' | 'link'>;
  readonly tokens: PassDeps['tokens'];
}

/** A page of a run's preview to open. */
export interface PageRequest extends Omit<PageVisit, 'origin' | 'siblings' | 'previous' | 'pass'> {
  readonly run: RunRecord;
  readonly port: number;
  readonly by?: Actor | undefined;
  /** Whether a result needs no record: the timeline says the same already. */
  readonly isKnown?: ((result: PageResult) => boolean) | undefined;
}

export interface PageLook extends PageResult {
  readonly observation: PageObservation;
  /** To the last look at the same page; null for the first one, and for a check. */
  readonly difference: LookDifference | null;
}

/** Looks of one run that are kept; pictures of fewer. */
const KEPT = { most: 50, pictures: 10 };

/**
 * Opens a live preview of the run in a browser, through the gateway, and reports whether it works.
 * Records the result in the run's timeline. A look with a picture is kept, and compared with the
 * last one of the same page.
 * @throws PortholeError like `openPage`
 */
export async function lookAtPage(
  deps: LookAtPageDeps,
  request: PageRequest,
  signal?: AbortSignal,
): Promise<PageLook> {
  const { run, port, by, path, viewport, steps, picture } = request;
  const { records, clock, ids } = deps;
  const page = { runId: run.id, port, visit: { path, viewport, steps, picture } };
  const last =
    picture === undefined ? undefined : await records.looks.last(page, run.owner, keptSince(clock));
  const previous = last?.picture ?? undefined;
  const observation = await openPage(deps, { ...request, previous }, signal);
  const result = classifyPage(observation);
  const at = clock.now();
  const id = picture === undefined ? undefined : ids.look();
  if (id !== undefined) {
    const { facts, outline, console } = observation;
    const look = {
      ...page,
      id,
      at,
      result: result.result,
      summary: summaryOf(result),
      title: facts?.title ?? '',
      outline,
      console: console.map(({ level, text }) => ({ level, text })),
      thumbnail:
        observation.thumbnail ?? (observation.difference === null ? null : (last?.thumbnail ?? null)),
      picture: observation.picture,
    };
    await records.looks.add(look, { owner: run.owner, ...KEPT });
  }
  if (request.isKnown?.(result) !== true) {
    await records.timeline.append(run.id, [pageLooked({ port, path, by, look: id }, result, at)], at);
  }
  return { ...result, observation, difference: last === undefined ? null : compareLooks(last, observation) };
}

/**
 * Opens a live preview of the run in a browser, through the gateway.
 * @throws PortholeError `preview_not_found` with the doctor's advice, `preview_not_enabled`, and
 * what `PageBrowser.observe` throws
 */
export function openPage(
  deps: LookAtPageDeps,
  request: PageRequest & Pick<PageVisit, 'previous'>,
  signal?: AbortSignal,
): Promise<PageObservation> {
  const attributes = { 'porthole.run.id': request.run.id, 'porthole.preview.port': request.port };
  return traced({ name: 'preview.look', attributes }, () => observePage(deps, request, signal));
}

async function observePage(
  deps: LookAtPageDeps,
  request: PageRequest & Pick<PageVisit, 'previous'>,
  signal?: AbortSignal,
): Promise<PageObservation> {
  const { run, port, by: _, isKnown: __, ...visit } = request;
  const { preview, live } = await findLive(deps, run, port, signal);
  const origin = originOf(preview);
  if (origin === undefined) {
    throw new PortholeError(
      'preview_not_enabled',
      'Previews have no URLs here (Sandbox__Preview__Enabled=false), so no browser can open them.',
    );
  }
  const passTo = (to: Preview) => createPass(deps, to, { viewer: 'porthole' });
  const siblings = live.flatMap((other) => {
    const at = originOf(other);
    if (other === preview || at === undefined) return [];
    return [passTo(other).then((pass) => ({ origin: at, port: other.targetPort, pass }))];
  });
  const [pass, reached] = await Promise.all([passTo(preview), Promise.all(siblings)]);
  const opened = { ...visit, origin, siblings: reached, pass };
  const began = performance.now();
  const observed = await deps.pages.observe(opened, run.owner.user, signal).finally(() => {
    deps.traffic.add(run.sandboxId, { lookS: (performance.now() - began) / 1_000 });
  });
  return withAdvice(deps, run, port, observed, signal);
}

/**
 * The live preview of the port, and those of the run.
 * @throws PortholeError `preview_not_found` with the doctor's advice
 */
export async function findLive(
  deps: LookAtPageDeps,
  run: RunRecord,
  port: number,
  signal?: AbortSignal,
): Promise<{ readonly preview: Preview; readonly live: readonly Preview[] }> {
  const live = await listPreviews(deps, run, signal);
  const preview = live.find(({ targetPort }) => targetPort === port);
  if (preview === undefined) throw await notLive(deps, run, port, signal);
  return { preview, live };
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
  return new PortholeError('preview_not_found', `Port ${port} has no live preview`, {
    remedy: `start one (in the sandbox: porthole preview ${port}; elsewhere: porthole preview ${run.id} ${port}; MCP: start_preview), then look again. ${advice}`,
  });
}
