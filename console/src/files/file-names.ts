import { addressOf, type Answer } from '../api/client.ts';

/**
 * The address of a file's content.
 * @param path absolute
 */
export function addressOfFile(id: string, path: string): string {
  return addressOf('GET /v1/sandbox/{id}/file/{path}', { id, path: path.slice(1) });
}

/** What names the language of a file: its extension, or its name, in lower case. */
export function languageName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Maximum size of an editable text, in bytes. */
export const MAX_TEXT_BYTES = 1_048_576;

/**
 * Image types that browsers render without running code. Not SVG, which is a document: it is shown
 * as text.
 */
const PICTURES: readonly { readonly type: string; readonly begins: RegExp }[] = [
  { type: 'image/png', begins: /^\x89PNG\r\n/ },
  { type: 'image/jpeg', begins: /^\xff\xd8\xff/ },
  { type: 'image/gif', begins: /^GIF8[79]a/ },
  { type: 'image/webp', begins: /^RIFF[^]{4}WEBP/ },
  { type: 'image/avif', begins: /^[^]{4}ftypavi[fs]/ },
  { type: 'image/bmp', begins: /^BM[^]{12}\x28\0\0\0/ },
];

/** The type of an image by its first bytes; undefined: not an image. The file's name is ignored. */
export function pictureType(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 32));
  return PICTURES.find(({ begins }) => begins.test(head))?.type;
}

/** Whether the bytes begin as a PDF does. */
export function isPdf(bytes: Uint8Array): boolean {
  return String.fromCharCode(...bytes.subarray(0, 5)) === '%PDF-';
}

export interface Text {
  /** With normalized line ends. */
  readonly text: string;
  /**
   * Its line ends; `mixed` is saved as `
   * `.
   */
  readonly ends: '\n' | '\r\n' | 'mixed';
}

/**
 * Decodes text; undefined if the bytes are not text. `isCut`: they are truncated and may end within
 * a character.
 */
export function textOf(bytes: Uint8Array, isCut = false): Text | undefined {
  let raw: string;
  try {
    // Keeps the BOM: without it, saving would change the file.
    raw = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
  if (raw.includes('\0')) return undefined;
  const text = raw.replace(/\r\n?/g, '\n');
  if (!raw.includes('\r')) return { text, ends: '\n' };
  return { text, ends: text.replaceAll('\n', '\r\n') === raw ? '\r\n' : 'mixed' };
}

/** Encodes an edited text with its line ends. */
export function bytesOf(text: string, ends: Text['ends']): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(ends === '\r\n' ? text.replaceAll('\n', '\r\n') : text);
}

export type Entry = Answer<'GET /v1/sandbox/{id}/files'>['entries'][number];

export type Order = 'name' | 'size' | 'mtime';

const BY_NAME = new Intl.Collator(undefined, { numeric: true });

/** Sorts entries: folders first, then by the chosen order. */
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

/** A file to upload to a folder. */
export interface Incoming {
  /** Relative to the folder, including its parents. */
  readonly path: string;
  readonly file: File;
}

/**
 * Characters that break the line, change the reading direction, or are invisible. Spaces at the
 * ends are invisible too.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]|^ +|(?<! ) +$/gu;

/**
 * A file's name made readable: nothing in it can move or hide another part of the page or of
 * itself.
 */
export function shownName(name: string): string {
  return name.replace(UNSEEN, (found) => {
    if (found.startsWith(' ')) return '␣'.repeat(found.length);
    const code = found.codePointAt(0) ?? 0;
    // Joiners of emoji and of scripts that need them.
    if (code === 0x200d || code === 0x200c) return found;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Whether the name is exact: invalid UTF-8 arrives as U+FFFD, and no path reaches such a file. */
export function isReachable(path: string): boolean {
  return !path.includes('\uFFFD');
}

/** Why a name is invalid; undefined: valid. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'Type a name.';
  if (name === '.' || name === '..') return 'A folder of that name already exists.';
  if (/[/\0]/.test(name)) return 'A name has no slash.';
  if (new TextEncoder().encode(name).length > 255) return 'A name has at most 255 bytes.';
  return undefined;
}

/** The path after an entry moved from one path to another; undefined: neither it nor in it. */
export function movedPath(path: string, from: string, to: string): string | undefined {
  if (path === from) return to;
  return path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : undefined;
}
