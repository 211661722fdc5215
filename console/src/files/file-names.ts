import { addressOf, type Answer } from '../api/client.ts';

/** Where the bytes of a file are. @param path absolute */
export function addressOfFile(id: string, path: string): string {
  return addressOf('GET /v1/sandbox/{id}/file/{path}', { id, path: path.slice(1) });
}

/** Of a text: more than a person edits in a page. In bytes. */
export const MOST_TEXT = 1_048_576;

/**
 * Pictures that browsers show and that run nothing. SVG is none of them: it is a document, and is
 * shown as its text.
 */
const PICTURES: readonly { readonly type: string; readonly begins: RegExp }[] = [
  { type: 'image/png', begins: /^\x89PNG\r\n/ },
  { type: 'image/jpeg', begins: /^\xff\xd8\xff/ },
  { type: 'image/gif', begins: /^GIF8[79]a/ },
  { type: 'image/webp', begins: /^RIFF[^]{4}WEBP/ },
  { type: 'image/avif', begins: /^[^]{4}ftypavi[fs]/ },
  { type: 'image/bmp', begins: /^BM[^]{12}\x28\0\0\0/ },
];

/**
 * The type of a picture by its first bytes; undefined: it is none. What a file is called says
 * nothing.
 */
export function pictureType(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 32));
  return PICTURES.find(({ begins }) => begins.test(head))?.type;
}

export interface Text {
  /** With line ends as an editor has them. */
  readonly text: string;
  /** What its lines end with; `mixed` becomes `\n` when it is saved. */
  readonly ends: '\n' | '\r\n' | 'mixed';
}

/**
 * The bytes as text; undefined where they are none. `isCut`: they are the beginning of more, and
 * may end within a character.
 */
export function textOf(bytes: Uint8Array, isCut = false): Text | undefined {
  let raw: string;
  try {
    // The mark at its beginning is a character of the file: without it the file would be another
    // one when it is saved.
    raw = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
  if (raw.includes('\0')) return undefined;
  const text = raw.replace(/\r\n?/g, '\n');
  if (!raw.includes('\r')) return { text, ends: '\n' };
  return { text, ends: text.replaceAll('\n', '\r\n') === raw ? '\r\n' : 'mixed' };
}

/** The file that an edited text is. */
export function bytesOf(text: string, ends: Text['ends']): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(ends === '\r\n' ? text.replaceAll('\n', '\r\n') : text);
}

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

/** A file on its way to a folder. */
export interface Incoming {
  /** Relative to the folder, with those that it lies in. */
  readonly path: string;
  readonly file: File;
}

/**
 * What would break the line, turn the reading order, or not be seen at all. Spaces at the ends are
 * seen nowhere either.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]|^ +| +$/gu;

/**
 * A file's name as a person can read it: nothing in it moves or hides another part of the page, or
 * of itself.
 */
export function shownName(name: string): string {
  return name.replace(UNSEEN, (found) => {
    if (found.startsWith(' ')) return '␣'.repeat(found.length);
    const code = found.codePointAt(0) ?? 0;
    // The joiners of emoji and of scripts that need them.
    if (code === 0x200d || code === 0x200c) return found;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Whether the name is exact: bytes that are no UTF-8 come as U+FFFD, and no path
 * leads to those.
 */
export function isReachable(path: string): boolean {
  return !path.includes('\uFFFD');
}

/** Why no file may be called so; undefined: it may. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'Type a name.';
  if (name === '.' || name === '..') return 'That is the name of a folder that is there already.';
  if (/[/\0]/.test(name)) return 'A name has no slash.';
  if (new TextEncoder().encode(name).length > 255) return 'A name has at most 255 bytes.';
  return undefined;
}
