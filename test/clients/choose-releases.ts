/** The newest release and the last of earlier minor versions, newest first. */
export function chooseReleases(versions: readonly string[], count: number): readonly string[] {
  const stable = versions.filter((version) => /^\d+\.\d+\.\d+$/.test(version)).toSorted(newestFirst);
  const minors = new Set<string>();
  const first = stable.filter((version) => {
    const minor = version.replace(/\.\d+$/, '');
    return !minors.has(minor) && minors.add(minor);
  });
  // A package may have few minor versions.
  const others = stable.filter((version) => !first.includes(version));
  return [...first, ...others].slice(0, count).toSorted(newestFirst);
}

function newestFirst(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  for (const index of [0, 1, 2]) {
    const difference = (right?.[index] ?? 0) - (left?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
