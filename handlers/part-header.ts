import { PortholeError } from '#core/errors.ts';

/** What the header of a part says. */
export interface PartHeader {
  /** Of the form's field. */
  readonly name: string;
  /** As it was sent, with any slashes; undefined: a field, not a file. */
  readonly filename: string | undefined;
  readonly contentType: string;
}

const DISPOSITION = /^form-data(?=\s*;)/i;
/** A quoted value ends at the first quote: senders write one in a name as `%22` (HTML standard, "multipart form data"). */
const PARAMETER = /\s*;\s*([a-z]+\*?)=(?:"([^"]*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/iy;

/**
 * @param header values are bytes, as Latin-1
 * @throws PortholeError `invalid_request` for one that is none of `multipart/form-data` (RFC 7578)
 */
export function readPartHeader(header: Readonly<Record<string, readonly string[] | undefined>>): PartHeader {
  const dispositions = header['content-disposition'] ?? [];
  const text = dispositions[0]?.trim() ?? '';
  if (dispositions.length !== 1) {
    throw malformed(`a part has ${dispositions.length} Content-Disposition headers instead of one`);
  }
  const kind = DISPOSITION.exec(text)?.[0];
  if (kind === undefined) throw malformed(`a part has the Content-Disposition ${shown(text)}`);
  const values = new Map<string, string>();
  let at = kind.length;
  while (at < text.length) {
    PARAMETER.lastIndex = at;
    const [whole, key, quoted, token] = PARAMETER.exec(text) ?? [];
    if (whole === undefined || key === undefined || values.has(key.toLowerCase())) {
      throw malformed(`a part has the Content-Disposition ${shown(text)}`);
    }
    values.set(key.toLowerCase(), quoted === undefined ? (token ?? '') : unescaped(quoted));
    at += whole.length;
  }
  const name = values.get('name');
  if (name === undefined) throw malformed('a part has no name');
  const extended = values.get('filename*');
  const filename = extended === undefined ? values.get('filename') : extendedValue(extended);
  return {
    name: utf8(name),
    filename: filename === undefined ? undefined : utf8(filename),
    contentType: header['content-type']?.[0]?.trim().toLowerCase() ?? 'text/plain',
  };
}

/** A body that cannot be read as what it says that it is. */
export function malformed(why: string): PortholeError {
  return new PortholeError(
    'invalid_request',
    `The multipart body cannot be read: ${why}. Send multipart/form-data as browsers, curl -F and HTTP libraries make it.`,
  );
}

/** The three that a sender may not write as they are. */
function unescaped(quoted: string): string {
  return quoted.replace(/%(0A|0D|22)/gi, (escape) => decodeURIComponent(escape));
}

/** `UTF-8''na%C3%AFve.txt` (RFC 8187). */
function extendedValue(value: string): string {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  if (encoded === undefined) throw malformed(`a filename* is ${shown(value)}`);
  return encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function utf8(latin1: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(latin1, 'latin1'));
  } catch {
    throw malformed(`the name ${shown(latin1)} is not UTF-8`);
  }
}

function shown(text: string): string {
  return JSON.stringify(Buffer.from(text, 'latin1').toString('utf8').slice(0, 100));
}
