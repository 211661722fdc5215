/** What orders previews for the cap: who came first stays. */
export interface Ranked {
  readonly name: string;
  readonly createdAt: Date;
}

/**
 * Whether `mine` stands past the cap among `live` (itself included or not). Every starter judges after creating, by the
 * same order of (createdAt, name), so that simultaneous starters agree on who withdraws.
 */
export function isPastCap(mine: Ranked, live: readonly Ranked[], cap: number): boolean {
  let ahead = 0;
  for (const other of live) if (other.name !== mine.name && precedes(other, mine)) ahead += 1;
  return ahead >= cap;
}

function precedes(a: Ranked, b: Ranked): boolean {
  const difference = a.createdAt.getTime() - b.createdAt.getTime();
  return difference !== 0 ? difference < 0 : a.name < b.name;
}
