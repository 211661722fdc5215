import { secretRedactor } from '../auth/redact-secrets.ts';
import { author } from '../previews/preview-events.ts';
import type { Actor, NewEvent } from '../runs/timeline.ts';
import { plainText } from '#base/plain-text.ts';
import type { LookDifference } from './compare-looks.ts';
import { type PageCause, type PageResult, placeText } from './page-cause.ts';
import type { AccessibilityFinding, PageObservation } from './page-browser.ts';

/** The report for a caller: the same fields, each list cut to its share of the budget. */
export interface PageReport extends PageResult {
  /** One sentence for people and models. */
  readonly summary: string;
  readonly observation: PageObservation;
  readonly difference: LookDifference | null;
  /** How many entries of each list were left out. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** In characters, at four a token: about 8,000 tokens for a look, 2,000 for a check. */
const BUDGETS = { look: 30_000, check: 7_000 } as const;
const SHARES = {
  errors: 0.2,
  failed: 0.2,
  console: 0.2,
  accessibility: 0.05,
  sockets: 0.05,
  pending: 0.05,
  overlays: 0.1,
} as const;
const OUTLINE_SHARE = 0.15;
const LEVELS = ['error', 'warning', 'info', 'log', 'debug'];

/** Cuts the texts of a page to its budget. A check has neither outline nor screenshot. */
export function pageReport(
  kind: keyof typeof BUDGETS,
  look: PageResult & Pick<PageReport, 'observation' | 'difference'>,
): PageReport {
  const { result, causes, notes, observation: seen } = look;
  const budget = BUDGETS[kind];
  const leftOut: Record<string, number> = {};
  const cut = <T>(name: keyof typeof SHARES, all: readonly T[]): readonly T[] => {
    let left = budget * SHARES[name];
    const kept = all.filter((one) => (left -= JSON.stringify(one).length) >= 0);
    if (kept.length < all.length) leftOut[name] = all.length - kept.length;
    return kept;
  };
  const worstFirst = seen.console.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  const printed =
    kind === 'look' ? worstFirst : worstFirst.filter(({ level }) => level === 'error' || level === 'warning');
  return {
    result,
    causes,
    ...(notes !== undefined && { notes }),
    summary: summaryOf(look),
    observation: {
      ...seen,
      errors: cut('errors', seen.errors),
      failed: cut('failed', seen.failed),
      console: cut('console', printed),
      sockets: cut('sockets', seen.sockets),
      pending: cut('pending', seen.pending),
      overlays: cut('overlays', seen.overlays),
      redirects: seen.redirects.slice(0, 10),
      accessibility: seen.accessibility && cut('accessibility', seen.accessibility),
      outline: kind === 'look' ? (seen.outline?.slice(0, budget * OUTLINE_SHARE) ?? null) : null,
      facts: seen.facts && { ...seen.facts, text: seen.facts.text.slice(0, kind === 'look' ? 2_000 : 300) },
      picture: kind === 'look' ? seen.picture : null,
      thumbnail: null,
      difference: null,
      element: null,
    },
    difference: kind === 'look' ? look.difference : null,
    leftOut,
  };
}

/** "works", or "broken: …" with the likeliest cause and its location. */
export function summaryOf({ result, causes }: PageResult): string {
  const [first] = causes;
  return first === undefined ? 'works' : `${result}: ${causeText(first)}`;
}

export function causeText({ message, place }: PageCause): string {
  return place === null ? message : `${message.replace(/\.$/, '')} (${placeText(place)})`;
}

/** One line for a finding of accessibility. */
export function barrierText({ rule, help, count, elements }: AccessibilityFinding): string {
  const more = count > elements.length ? ` and ${count - elements.length} more` : '';
  return `accessibility: ${help} (${rule}): ${elements.join(', ')}${more}`;
}

export interface LookedAt {
  readonly port: number;
  readonly path: string;
  readonly by: Actor | undefined;
  /** Id of the kept look. */
  readonly look?: string | undefined;
}

/** Repeated checks with the same result are recorded at most once in this time, in milliseconds. */
const AGAIN_MS = 1_000;
const redact = secretRedactor([]);

/** A look at a page, with its result and the likeliest cause. */
export function pageLooked(
  { port, path, by, look }: LookedAt,
  { result, causes }: PageResult,
  at: Date,
): NewEvent {
  const [first] = causes;
  return {
    type: 'preview.looked',
    key:
      look === undefined
        ? `looked:${port}:${result}:${Math.floor(at.getTime() / AGAIN_MS)}`
        : `looked:${look}`,
    data: {
      target_port: port,
      // A query may hold secrets.
      path: plainText(path.replace(/[?#].*/s, ''), 200),
      result,
      ...(first !== undefined && { cause: plainText(redact(first.message), 300) }),
      ...(first?.place && { place: placeText(first.place) }),
      ...author(by),
      ...(look !== undefined && { look }),
    },
  };
}
