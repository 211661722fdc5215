import {
  type Diagnosis,
  diagnoseSandbox,
  overallAdvice,
  type PortDiagnosis,
} from '../diagnosis/diagnose-sandbox.ts';
import { PortholeError } from '../errors.ts';
import { listPreviews } from '../previews/live-previews.ts';
import type { Actor } from '../previews/preview-events.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { PageResult } from './classify-page.ts';
import { type LookAtPageDeps, lookAtPage } from './look-at-page.ts';
import type { Viewport } from './page-browser.ts';
import { causeText } from './page-report.ts';

export const DESKTOP: Viewport = { width: 1_280, height: 800, scale: 1, mobile: false };

/** Clients give up on a call after a minute as a rule. In milliseconds. */
const CHECK_WITHIN_MS = 20_000;
/** Pages that the doctor checks at most. */
const MOST_PAGES = 4;

/** A port whose preview a browser has opened, where there is one. */
export type CheckedPort = PortDiagnosis & { readonly page?: PageResult };

interface Checked {
  readonly run: RunRecord;
  readonly by?: Actor | undefined;
}

/**
 * Checks the page at `/` of a live preview for an answer that does not depend on it: undefined if
 * no browser is installed, too many looks wait, or the check takes too long.
 */
export async function checkStartPage(
  deps: LookAtPageDeps,
  { run, port, by }: Checked & { readonly port: number },
  signal?: AbortSignal,
): Promise<PageResult | undefined> {
  if (!deps.pages.isInstalled()) return undefined;
  const limit = AbortSignal.timeout(CHECK_WITHIN_MS);
  const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  const visit = { path: '/', viewport: DESKTOP, steps: [], waitFor: undefined, picture: undefined };
  try {
    const { result, causes } = await lookAtPage(deps, { run, port, by, ...visit }, until);
    return { result, causes };
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted || error instanceof PortholeError) return undefined;
    throw error;
  }
}

/**
 * `diagnoseSandbox`, and a check of each live preview whose server answers: a server that answers
 * may show a blank page. A port with a broken page is not ready.
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
    found.ports.filter((each) => each.ready && live.has(each.port)).slice(0, MOST_PAGES),
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

/** One sentence on a page that is not broken for certain. */
export function pageSentence(page: PageResult): string {
  return page.result === 'works' ? 'Its page works.' : `Its page may have a fault: ${faultText(page)}`;
}

/** The likeliest cause and its place, as a sentence; empty for a page that works. */
export function faultText({ causes: [first] }: PageResult): string {
  return first === undefined ? '' : `${causeText(first).replace(/\.$/, '')}.`;
}
