/** Matches one pattern after the other; its owner ends it where a pattern does not come back. */
import { parentPort as owner, workerData } from 'node:worker_threads';
import { worstTexts, type WorstText } from './worst-texts.ts';

/**
 * Texts are tried at each length, and the slowest of them at the next. One that takes a suspicious
 * time, in milliseconds, is tried at all lengths at once.
 */
const ROUNDS = [
  { size: 1_024, kept: 24, suspicious: 1 },
  { size: 4_096, kept: 4, suspicious: 10 },
] as const;
const SIZES = [8, 16, 32, 64] as const;
/**
 * Processor time in milliseconds for 64 KiB: a linear pattern takes 2, and one with a bounded
 * search from each character up to 25. `growth` is the most for four times the length.
 */
const LIMITS = { noise: 40, most: 160, growth: 8 } as const;

interface Pattern {
  readonly source: string;
  readonly flags: string;
}

function textOf({ head, pump, tail }: WorstText, size: number): string {
  return head + pump.repeat(Math.ceil((size - head.length) / pump.length)) + tail;
}

/** Processor time of the thread, in milliseconds: other processes do not count. */
function timeOf(pattern: RegExp, text: string): number {
  const before = process.threadCpuUsage();
  text.replace(pattern, '');
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** A just-in-time compiler and a garbage collector run in between: the best of three. */
function bestTime(pattern: RegExp, text: string): number {
  let best = Infinity;
  for (let tries = 0; tries < 3 && best > LIMITS.noise; tries += 1) {
    best = Math.min(best, timeOf(pattern, text));
  }
  return best;
}

/** Undefined if the pattern takes linear time. */
function slowText({ source, flags }: Pattern): string | undefined {
  const pattern = new RegExp(source, `${flags.replace('g', '')}g`);
  let texts = worstTexts(source, flags);
  for (const { size, kept, suspicious } of ROUNDS) {
    const timed: { readonly text: WorstText; readonly ms: number }[] = [];
    for (const text of texts) {
      const ms = screeningTime(pattern, textOf(text, size));
      const found = ms > suspicious ? growth(pattern, text) : undefined;
      if (found !== undefined) return found;
      timed.push({ text, ms });
    }
    const slowest = timed.toSorted((one, other) => other.ms - one.ms).slice(0, kept);
    texts = slowest.map(({ text }) => text);
  }
  for (const text of texts) {
    const found = growth(pattern, text);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Undefined if the time grows like the length. */
function growth(pattern: RegExp, text: WorstText): string | undefined {
  const times: number[] = [];
  for (const size of SIZES) {
    if ((times.at(-1) ?? 0) <= LIMITS.most) times.push(bestTime(pattern, textOf(text, size * 1_024)));
  }
  const [last = 0, , quarter = 0] = times.toReversed();
  if (last <= LIMITS.noise || (last <= LIMITS.most && last <= quarter * LIMITS.growth)) return undefined;
  const sizes = SIZES.slice(0, times.length).join(', ');
  return `${JSON.stringify(text)}: ${times.map((ms) => ms.toFixed(1)).join(', ')} ms for ${sizes} KiB`;
}

/** Wall-clock time, which is measured in nanoseconds. */
function screeningTime(pattern: RegExp, text: string): number {
  const before = performance.now();
  text.replace(pattern, '');
  return performance.now() - before;
}

for (const pattern of workerData as readonly Pattern[]) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
  owner?.postMessage(slowText(pattern));
}
