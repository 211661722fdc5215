/** Maximum edit distance; a larger one is another word. */
const MAX_SLIPS = 2;

/**
 * The name that was most likely meant: case does not count, and up to two letters may be missing,
 * extra or different,
 * as long as one letter stays.
 */
export function closestName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let fewest = MAX_SLIPS + 1;
  for (const candidate of known) {
    const slips = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (slips < Math.min(fewest, name.length, candidate.length)) [best, fewest] = [candidate, slips];
  }
  return best;
}

/** Levenshtein's distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
