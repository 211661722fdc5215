import type { PageObservation, PixelDifference } from './page-browser.ts';
import type { KeptLook } from './look-store.ts';

/** What appeared on a page since an earlier look, and what went. */
export interface LinesDifference {
  readonly appeared: readonly string[];
  readonly gone: readonly string[];
}

export interface LookDifference {
  /** Of the earlier look. */
  readonly since: Date;
  /** Null where the pictures could not be compared. */
  readonly pixels: PixelDifference | null;
  /** Null where one of the looks has no outline. */
  readonly outline: LinesDifference | null;
  readonly console: LinesDifference;
}

/** Four lists of so many lines take about 3,000 tokens. */
const MAX_LINES = 20;
const MAX_LINE_CHARS = 160;

export function compareLooks(
  before: Pick<KeptLook, 'at' | 'outline' | 'console'>,
  now: Pick<PageObservation, 'outline' | 'console' | 'difference'>,
): LookDifference {
  return {
    since: before.at,
    pixels: now.difference,
    outline:
      before.outline === null || now.outline === null
        ? null
        : linesDifference(linesOf(before.outline), linesOf(now.outline)),
    console: linesDifference(before.console.map(printed), now.console.map(printed)),
  };
}

/**
 * Whether nothing that a look sees has changed. Null where no change was found in what could be
 * compared.
 */
export function isSame({ pixels, outline, console }: LookDifference): boolean | null {
  const changed = [outline, console].flatMap((lines) => [...(lines?.appeared ?? []), ...(lines?.gone ?? [])]);
  if ((pixels?.changedPixels ?? 0) > 0 || changed.length > 0) return false;
  return pixels === null || outline === null ? null : true;
}

function linesOf(outline: string): readonly string[] {
  return outline.split('\n').map((line) => line.trim());
}

function printed({ level, text }: KeptLook['console'][number]): string {
  return `${level}: ${text}`;
}

/** Compares as multisets: a moved line did not change. */
function linesDifference(before: readonly string[], now: readonly string[]): LinesDifference {
  return { appeared: without(now, before), gone: without(before, now) };
}

function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines
    .filter((line) => {
      const count = left.get(line) ?? 0;
      left.set(line, count - 1);
      return count <= 0 && line !== '';
    })
    .slice(0, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE_CHARS));
}
