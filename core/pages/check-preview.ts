import {
  type Diagnosis,
  diagnoseSandbox,
  overallAdvice,
  type PortDiagnosis,
} from '../diagnosis/diagnose-sandbox.ts';
import { PortholeError } from '#base/errors.ts';
import { listPreviews } from '../previews/live-previews.ts';
import type { Actor } from '../runs/timeline.ts';
import type { RunRecord } from '../runs/run-records.ts';
import { anySignal } from '#base/concurrency.ts';
import type { PageResult } from './page-cause.ts';
import { type LookAtPageDeps, lookAtPage, type PageRequest } from './look-at-page.ts';
import type { Viewport } from './page-browser.ts';
import { causeText } from './page-report.ts';

export const DESKTOP: Viewport = { width: 1_280, height: 800, scale: 1, mobile: false };

/** Timeout of a check, in milliseconds: clients usually time out after a minute. */
const CHECK_WITHIN_MS = 20_000;
/** Maximum pages that the doctor checks. */
const MAX_PAGES = 4;

/** A port, with the result of its preview in a browser, if checked. */
export type CheckedPort = PortDiagnosis & { readonly page?: PageResult };

interface Checked {
  readonly run: RunRecord;
  readonly by?: Actor | undefined;
}

/**
 * Checks the page at `/` of a live preview. Best effort: undefined if no browser is installed, too
 * many checks wait, or the check times out.
 */
export async function checkStartPage(
  deps: LookAtPageDeps,
  request: Checked & Pick<PageRequest, 'port' | 'isKnown'>,
  signal?: AbortSignal,
): Promise<PageResult | undefined> {
  if (!deps.pages.isInstalled()) return undefined;
  const limit = AbortSignal.timeout(CHECK_WITHIN_MS);
  const until = anySignal(signal, limit);
  const visit = { path: '/', viewport: DESKTOP, steps: [], waitFor: undefined, picture: undefined };
  try {
    const { result, causes } = await lookAtPage(deps, { ...request, ...visit }, until);
    return { result, causes };
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted || error instanceof PortholeError) return undefined;
    throw error;
  }
}

/**
 * `diagnoseSandbox`, and a check of each live preview with a server that answers, because it may
 * show a blank page. A port with a broken page is not ready.
 * @throws PortholeError what `diagnoseSandbox` throws
 */
export async function diagnosePages(
  deps: LookAtPageDeps,
  { run, port, by }: Checked & { readonly port?: number | undefined },
  signal?: AbortSignal,
): Promise<Diagnosis & { readonly ports: readonly CheckedPort[] }> {
  const found = await diagnoseSandbox(deps, { run, port }, signal);
  const live = new Set((await listPreviews(deps, run, signal)).map(({ targetPort }) => targetPort));
  const isChecked = new Set(
    found.ports.filter((each) => each.ready && live.has(each.port)).slice(0, MAX_PAGES),
  );
  const ports = await Promise.all(
    found.ports.map(async (each) => {
      const page = isChecked.has(each)
        ? await checkStartPage(deps, { run, port: each.port, by }, signal)
        : undefined;
      return page === undefined ? each : withPage(each, page);
    }),
  );
  return { ...found, ports, advice: ports.length === 0 ? found.advice : overallAdvice(ports) };
}

function withPage(found: PortDiagnosis, page: PageResult): CheckedPort {
  const fault = faultText(page);
  const { port, ready, advice } = found;
  return page.result === 'broken'
    ? { ...found, page, ready: false, advice: `Port ${port} answers, but its page is broken: ${fault}` }
    : { ...found, page, ready, advice: `${advice} ${pageSentence(page)}` };
}

/** One sentence on a page that is not certainly broken. */
export function pageSentence(page: PageResult): string {
  return page.result === 'works' ? 'Its page works.' : `Its page may have a fault: ${faultText(page)}`;
}

/** The likeliest cause and its location, as a sentence; empty for a page that works. */
export function faultText({ causes: [first] }: PageResult): string {
  return first === undefined ? '' : `${causeText(first).replace(/\.$/, '')}.`;
}
