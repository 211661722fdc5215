/** Of a text: more than a person edits in a page. In bytes. */
export const MOST_TEXT = 1_048_576;

/** Pictures that browsers show and that run nothing. SVG is none of them: it is a document, and is shown as its text. */
const PICTURES: readonly { readonly type: string; readonly begins: RegExp }[] = [
  { type: 'image/png', begins: /^\x89PNG\r\n/ },
  { type: 'image/jpeg', begins: /^\xff\xd8\xff/ },
  { type: 'image/gif', begins: /^GIF8[79]a/ },
  { type: 'image/webp', begins: /^RIFF[^]{4}WEBP/ },
  { type: 'image/avif', begins: /^[^]{4}ftypavi[fs]/ },
  { type: 'image/bmp', begins: /^BM[^]{12}\x28\0\0\0/ },
];

/** The type of a picture by its first bytes; undefined: it is none. What a file is called says nothing. */
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

/** The bytes as text; undefined where they are none. `isCut`: they are the beginning of more, and may end within a character. */
export function textOf(bytes: Uint8Array, isCut = false): Text | undefined {
  let raw: string;
  try {
    // The mark at its beginning is a character of the file: without it the file would be another one when it is saved.
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
