import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../../docs/reference/network-policies.md');

/** Open, closed, or open as soon as `broker.egress` names the address. */
export type Cell = 'open' | 'closed' | '`egress`';

/** The cells of a table, by row and then by column, as the page calls both. */
export type Matrix<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

/** What the page says: cells by destination and source. */
export function documentedMatrix(): Matrix<Cell> {
  const lines = readFileSync(PAGE, 'utf8').split('\n');
  const [header, , ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf);
  const [, ...sources] = header ?? [];
  return Object.fromEntries(
    rows.map(([destination = '', ...cells]) => [
      destination,
      Object.fromEntries(sources.map((source, at) => [source, cells[at] as Cell])),
    ]),
  );
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}
