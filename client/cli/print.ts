import { once } from 'node:events';
import type { Context } from './command.ts';

/** Writes. Resolves when the stream drains or closes. */
export async function write(stream: NodeJS.WriteStream, content: string | Uint8Array): Promise<void> {
  if (stream.write(content) || stream.destroyed) return;
  const end = new AbortController();
  await Promise.race(['drain', 'close'].map((event) => once(stream, event, { signal: end.signal }))).finally(
    () => end.abort(),
  );
}

/**
 * Strips control characters of terminals, and of the direction of text, from untrusted text: with
 * one of the latter a command would look like another.
 */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '?');
}

/** The last lines of an output that are not empty, for an error. */
export function lastLines(output: string): readonly string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-LAST_LINES).map((line) => `  ${plain(line)}`);
}
export const LAST_LINES = 20;

/** Prints a list as JSON, or as a table with the first row as head, or says that it is empty. */
export async function showTable(
  { given, show, note }: Context,
  value: unknown,
  rows: readonly (readonly string[])[],
  none: string,
): Promise<number> {
  if (rows.length > 1 || given.is('json')) return show(value, ...table(rows));
  await note(none);
  return 0;
}

/** Lines of columns sized to their content; the last one is not padded. */
export function table(untrusted: readonly (readonly string[])[]): readonly string[] {
  const rows = untrusted.map((row) => row.map(plain));
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** A number of bytes, for people. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const unit = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1_024 ** unit).toFixed(1)} ${units[unit - 1]}`;
}
