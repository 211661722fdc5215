/** An entry of an archive, as malformed as a test needs; fields not given are valid. */
export interface TarEntry {
  readonly name?: string | Buffer;
  /** @default `0`, a file */
  readonly type?: string;
  readonly content?: string | Buffer;
  readonly linkName?: string | Buffer;
  /** Replaces the content's size: a number, or the bytes of the field. */
  readonly size?: number | string | Buffer;
  /** @default 0o644 */
  readonly mode?: number;
  /** @default `ustar\0` and `00` */
  readonly magic?: string;
  readonly prefix?: string | Buffer;
  /** Replaces the correct checksum. */
  readonly checksum?: string;
}

/** One entry, byte by byte: header, content, padding. */
export function entry({
  name = 'file',
  type = '0',
  content = '',
  linkName = '',
  size,
  mode = 0o644,
  magic = 'ustar\x0000',
  prefix = '',
  checksum,
}: TarEntry): Buffer {
  const body = Buffer.from(content as string);
  const header = Buffer.alloc(512);
  const put = (value: string | Buffer, at: number, length: number) =>
    void Buffer.from(value as string).copy(header, at, 0, length);
  put(name, 0, 100);
  put(octal(mode, 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  put(typeof size === 'number' || size === undefined ? octal(size ?? body.length, 11) : size, 124, 12);
  put(octal(1_700_000_000, 11), 136, 12);
  put(' '.repeat(8), 148, 8);
  put(type, 156, 1);
  put(linkName, 157, 100);
  put(magic, 257, 8);
  put(prefix, 345, 155);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(checksum ?? `${octal(sum, 6)}\0 `, 148, 8);
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** Entries, whole or raw, and the end of an archive. */
export function tar(...entries: readonly (TarEntry | Buffer)[]): Buffer {
  return Buffer.concat([
    ...entries.map((each) => (Buffer.isBuffer(each) ? each : entry(each))),
    Buffer.alloc(1_024),
  ]);
}

/** A pax header with these records; a value may be a whole record, which is then used unchanged. */
export function pax(records: Readonly<Record<string, string>> | string, type: 'x' | 'g' = 'x'): Buffer {
  const content =
    typeof records === 'string'
      ? records
      : Object.entries(records)
          .map(([key, value]) => paxRecord(key, value))
          .join('');
  return entry({ name: 'PaxHeaders/file', type, content });
}

/** `length key=value\n`, where the length counts itself. */
export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (bytes + String(length).length !== length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

/** GNU's header for a name (`L`) or a link's target (`K`) that is too long for its field. */
export function gnuLong(kind: 'L' | 'K', name: string | Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(name as string), Buffer.alloc(1)]);
  return entry({ name: '././@LongLink', type: kind, content, magic: 'ustar  \0' });
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')}\0`;
}
