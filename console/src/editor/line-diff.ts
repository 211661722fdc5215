/** A line of a comparison. */
export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Maximum compared pairs of lines: some tens of milliseconds. */
const MOST_PAIRS = 4_000_000;

/** The line diff from `before` to `after`; undefined if they are too long to compare. */
export function diffLines(before: string, after: string): readonly DiffLine[] | undefined {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const middle = between(old.slice(start, old.length - end), now.slice(start, now.length - end));
  if (middle === undefined) return undefined;
  const same = (text: string): DiffLine => ({ kind: 'same', text });
  return [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end, old.length).map(same)];
}

/** By the longest common subsequence. */
function between(old: readonly string[], now: readonly string[]): readonly DiffLine[] | undefined {
  const width = now.length + 1;
  if (old.length * now.length > MOST_PAIRS) return undefined;
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: 'same', text: old[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: 'removed', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: now[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** Only changes, with this many lines of context; null marks omitted lines. */
export function withContext(lines: readonly DiffLine[], around: number): readonly (DiffLine | null)[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    for (let other = index - around; other <= index + around; other += 1) near.add(other);
  }
  return lines.flatMap((line, index) => {
    if (near.has(index)) return [line];
    return index === 0 || near.has(index - 1) ? [null] : [];
  });
}
