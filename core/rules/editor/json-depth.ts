/** How deep JSON of callers and of sandboxes may nest: beyond any that people write, and far from where recursion ends. */
export const MOST_DEPTH = 100;

/** Whether JSON nests deeper than that. Does not recurse, whatever it is given. */
export function isTooDeep(value: unknown, most: number = MOST_DEPTH): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      if (depth === most) return true;
      for (const inner of Object.values(each)) next.push(inner);
    }
    level = next;
  }
  return false;
}
