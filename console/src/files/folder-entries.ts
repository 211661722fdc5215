import type { Answer } from '../api/client.ts';

export type Entry = Answer<'GET /v1/sandbox/{id}/files'>['entries'][number];

export type Order = 'name' | 'size' | 'mtime';

const BY_NAME = new Intl.Collator(undefined, { numeric: true });

/** Folders first, then as asked for. */
export function arranged(
  entries: readonly Entry[],
  { hidden, wanted, order }: { readonly hidden: boolean; readonly wanted: string; readonly order: Order },
): readonly Entry[] {
  const sought = wanted.toLowerCase();
  return entries
    .filter(({ name }) => (hidden || !name.startsWith('.')) && name.toLowerCase().includes(sought))
    .sort(
      (a, b) =>
        Number(b.type === 'directory') - Number(a.type === 'directory') ||
        (order === 'size' ? (b.size ?? 0) - (a.size ?? 0) : 0) ||
        (order === 'mtime' ? (b.mtime ?? '').localeCompare(a.mtime ?? '') : 0) ||
        BY_NAME.compare(a.name, b.name),
    );
}
