/** The word that somebody may have meant: at most two letters are other ones, too many, missing or in the wrong order, or it is cut short. */
export function nearest(typed: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, distance: distance(typed, word) }))
    .filter((each) => each.distance <= 2 && each.distance < each.word.length)
    .sort((a, b) => a.distance - b.distance);
  if (best !== undefined) return best.word;
  const begun = words.filter((word) => typed.length > 1 && word.startsWith(typed));
  return begun.length === 1 ? begun[0] : undefined;
}

/** Optimal string alignment. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const at = (up: number, left: number): number =>
        (up === 0 ? row : (rows[i - up] as number[]))[j - left] as number;
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, at(2, 2) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}
