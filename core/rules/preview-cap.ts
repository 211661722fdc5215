/** What orders previews for the cap: who came first stays. */
export interface Ranked {
  readonly name: string;
  readonly createdAt: Date;
}

/**
 * Whether `mine` is one of the first `places` among `live` (itself included or not), by the order of (createdAt, name). Every starter asks after creating, so
 * simultaneous starters agree on who withdraws, where no later creation bears an earlier time.
 */
export function isAmongFirst(mine: Ranked, live: readonly Ranked[], places: number): boolean {
  let ahead = 0;
  for (const other of live) if (other.name !== mine.name && precedes(other, mine)) ahead += 1;
  return ahead < places;
}

function precedes(a: Ranked, b: Ranked): boolean {
  const difference = a.createdAt.getTime() - b.createdAt.getTime();
  return difference !== 0 ? difference < 0 : a.name < b.name;
}
