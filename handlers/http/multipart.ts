import { isUtf8 } from 'node:buffer';
import { on } from 'node:events';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Dicer } from '@fastify/busboy';
import { PortholeError } from '#base/errors.ts';
import { limitedStream, type UnreadBody } from './limited-stream.ts';
import { checkNotCompressed, unsupportedType } from './read-input.ts';

interface PartHeader {
  /** Name of the form's field. */
  readonly name: string;
  /** Unchanged, with any slashes; undefined: a field, not a file. */
  readonly filename: string | undefined;
  readonly contentType: string;
}

const DISPOSITION = /^form-data(?=\s*;)/i;
/**
 * A quoted value ends at the first quote: senders encode a quote as `%22` (HTML standard,
 * "multipart form data").
 */
const PARAMETER = /\s*;\s*([a-z]+\*?)=(?:"([^"]*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/iy;

/**
 * @param header values are bytes, as Latin-1
 * @throws PortholeError `invalid_request` for a header that is invalid in `multipart/form-data`
 * (RFC 7578)
 */
function readPartHeader(header: Readonly<Record<string, readonly string[] | undefined>>): PartHeader {
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

/** A body that does not match its content type. */
function malformed(why: string): PortholeError {
  return new PortholeError('invalid_request', `The multipart body cannot be read: ${why}.`, {
    remedy: 'Send multipart/form-data as browsers, curl -F and HTTP libraries make it.',
  });
}

/** The three characters that senders must escape. */
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
  const bytes = Buffer.from(latin1, 'latin1');
  if (isUtf8(bytes)) return bytes.toString();
  throw malformed(`the name ${shown(latin1)} is not UTF-8`);
}

function shown(text: string): string {
  return JSON.stringify(Buffer.from(text, 'latin1').toString('utf8').slice(0, 100));
}

/** Limits of a multipart body; sizes in bytes. Exceeding any of them is `payload_too_large`. */
interface MultipartLimits {
  /** Parts without a filename. */
  readonly fields: number;
  readonly fieldBytes: number;
  /** Parts with a filename. */
  readonly files: number;
  readonly fileBytes: number;
  /** Size of the whole body, including headers and boundaries. */
  readonly totalBytes: number;
}

/** One part, in order. */
export interface MultipartPart extends PartHeader {
  /**
   * Its contents. Fails if the body is truncated or too long, so its end is always the part's end.
   */
  readonly stream: Readable;
}

/** Maximum size of a part's headers: RFC 7578 has three, and Linux's longest path fits twice. */
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADER_PAIRS = 16;

/**
 * The parts of a `multipart/form-data` body, in order, without buffering them: the next part
 * follows once this one's stream has been read, or is skipped. Ends only after the whole body,
 * including its closing boundary.
 * @throws PortholeError `unsupported_media_type`, `invalid_request` for a malformed or truncated
 * body, `payload_too_large`
 */
export async function* multipartParts(
  { headers, stream }: UnreadBody,
  limits: MultipartLimits,
): AsyncGenerator<MultipartPart, void, undefined> {
  const boundary = boundaryOf(headers);
  const { totalBytes: bytes } = limits;
  const tooLarge = () => overLimit(`the body exceeds ${bytes} bytes`);
  if (Number(headers['content-length'] ?? 0) > bytes) throw tooLarge();
  const body = limitedStream(stream(), { bytes, tooLarge, cutOff: () => malformed('it was cut off') });
  const parser = new Dicer({
    boundary,
    maxHeaderPairs: MAX_HEADER_PAIRS,
    maxHeaderSize: MAX_HEADER_BYTES,
  } as Dicer.Config);
  const parts = partsOf(parser, body);
  const seen = { fields: 0, files: 0 };
  try {
    for await (const { header, contents } of parts) {
      const part = readPartHeader(await header);
      const kind = part.filename === undefined ? 'field' : 'file';
      const count = (seen[`${kind}s`] += 1);
      if (count > limits[`${kind}s`]) throw overLimit(`there are more than ${limits[`${kind}s`]} ${kind}s`);
      const content = Readable.from(bounded(contents, kind, part, limits[`${kind}Bytes`]));
      // A skipped part has no listener, so its failure is reported here.
      content.on('error', () => undefined);
      yield { ...part, stream: content };
      content.resume();
      await finished(content);
    }
  } finally {
    // The rest stays unread; the connection's owner discards it.
    body.destroy();
    parser.destroy();
  }
}

/**
 * The text of a field.
 * @throws PortholeError `invalid_request` if it is not UTF-8, and errors of its stream
 */
export async function fieldText({ name, stream }: MultipartPart): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (isUtf8(bytes)) return bytes.toString();
  throw malformed(`the field ${JSON.stringify(name.slice(0, 100))} is not UTF-8`);
}

/**
 * @throws PortholeError `unsupported_media_type`; `invalid_request` without a boundary valid in RFC
 * 2046
 */
function boundaryOf(headers: UnreadBody['headers']): string {
  const type = headers['content-type'];
  if (type === undefined || !/^multipart\/form-data\s*(?:;|$)/i.test(type)) {
    throw unsupportedType('multipart/form-data', type, 'send a form, as curl -F does.');
  }
  checkNotCompressed(headers);
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined || !/^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/.test(boundary)) {
    throw malformed(`its Content-Type, ${JSON.stringify(type.slice(0, 200))}, has no boundary`);
  }
  return boundary;
}

interface RawPart {
  readonly header: Promise<Readonly<Record<string, string[]>>>;
  readonly contents: Readable;
}

/**
 * The parts, as the parser finds them. A parser error also fails the open part, so that truncation
 * never looks like its end.
 */
async function* partsOf(parser: Dicer, body: Readable): AsyncGenerator<RawPart, void, undefined> {
  const headers = new WeakMap<Readable, RawPart['header']>();
  let open:
    | { readonly contents: Readable; readonly header: PromiseWithResolvers<Record<string, string[]>> }
    | undefined;
  const headless = () => open?.header.reject(malformed('a part has no header'));
  parser.on('part', (contents) => {
    headless();
    const header = Promise.withResolvers<Record<string, string[]>>();
    header.promise.catch(() => undefined);
    contents.once('header', (found) => header.resolve(found as Record<string, string[]>));
    contents.on('error', () => undefined);
    headers.set(contents, header.promise);
    open = { contents, header };
  });
  parser.on('finish', headless);
  parser.on('error', (error) => {
    const reported = asReported(error);
    open?.header.reject(reported);
    open?.contents.destroy(reported);
  });
  const found = on(parser, 'part', { close: ['finish'] }) as AsyncIterable<[Readable]>;
  void feed(body, parser);
  try {
    for await (const [contents] of found) {
      const header = headers.get(contents);
      if (header !== undefined) yield { contents, header };
    }
  } catch (error) {
    throw asReported(error);
  }
}

/** The parser's own error has only this meaning. */
function asReported(error: unknown): PortholeError {
  return error instanceof PortholeError ? error : malformed('it ends before its closing boundary');
}

/** Never rejects: errors of the body become errors of the parser. */
async function feed(body: Readable, parser: Dicer): Promise<void> {
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      // After the closing boundary the parser takes no data, and the epilogue is ignored (RFC 2046,
      // section 5.1.1).
      if (parser.writable) await new Promise((taken) => void parser.write(chunk, taken));
    }
    parser.end();
  } catch (error) {
    parser.destroy(error as Error);
  }
}

async function* bounded(
  contents: Readable,
  kind: 'field' | 'file',
  { name, filename }: PartHeader,
  most: number,
): AsyncGenerator<Buffer, void, undefined> {
  let length = 0;
  try {
    for await (const chunk of contents as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > most) {
        const shown = JSON.stringify((filename ?? name).slice(0, 100));
        throw overLimit(`the ${kind} ${shown} exceeds ${most} bytes`);
      }
      yield chunk;
    }
  } catch (error) {
    throw asReported(error);
  }
}

function overLimit(what: string): PortholeError {
  return new PortholeError('payload_too_large', `The upload is too large: ${what}.`, {
    remedy: 'Send less at a time.',
  });
}
