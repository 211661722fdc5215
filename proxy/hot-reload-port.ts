import type { IncomingMessage } from 'node:http';
import type { ResponseHead } from './upstream/response-head.ts';

/**
 * Some dev servers write their own port into the script that opens the hot-reload WebSocket, so the
 * page would connect to the preview's host on a port without a listener. Both clients use the port
 * of the page if the given one is 0. See docs/decisions/0017.
 */

interface WellKnownText {
  readonly start: string;
  /** Sticky; the group is the port. A match is at most `MAX_MATCH_CHARS` characters long. */
  readonly pattern: RegExp;
  /**
   * The same text without its port, in exactly as many characters: lengths and source maps stay
   * valid.
   */
  readonly withoutPort: (text: string, port: string) => string;
}

const MAX_MATCH_CHARS = 160;
const WELL_KNOWN: readonly WellKnownText[] = [
  {
    // webpack-dev-server 4 and 5: the query of its client module, which it splits at `&` and `=`.
    // The host 0.0.0.0 means the page's.
    start: '?protocol=',
    pattern: /\?protocol=[a-z]{2,5}%3A&hostname=[\w.%-]{1,64}&port=(\d{2,5})&pathname=/y,
    withoutPort: (text, port) =>
      text
        .replace(/=(?:localhost|127\.0\.0\.1)&/, '=0.0.0.0&_&')
        .replace(`&port=${port}&`, `&port=${'0&'.padEnd(port.length, '_')}&`),
  },
  {
    // webpack-dev-server 6: the same in JSON, where 0.00 is 0 and spaces are ignored.
    start: '?url=%7B%22protocol',
    pattern:
      /\?url=%7B%22protocol%22%3A%22[a-z]{2,5}%3A%22%2C%22hostname%22%3A%22[\w.%-]{1,40}%22%2C%22port%22%3A(\d{3,5})%2C/y,
    withoutPort: (text, port) =>
      text
        .replace(/%22(?:localhost|127\.0\.0\.1)%22/, '%220.0.0.0%22  ')
        .replace(`${port}%2C`, `${'0.'.padEnd(port.length, '0')}%2C`),
  },
  {
    // Vite with `server.hmr.port`, as Storybook sets it.
    start: 'hmrPort = ',
    pattern: /hmrPort = (\d{1,5});/y,
    withoutPort: (text, port) => text.replace(`${port};`, `${'0'.padEnd(port.length)};`),
  },
];

/**
 * Replaces the app's port in the hot-reload clients of a script, streaming: holds back at most
 * `MAX_MATCH_CHARS` bytes, and never changes the length.
 */
export class HotReloadPort {
  readonly #targetPort: number;
  #held: Buffer | undefined;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  /** Returns the bytes that may be sent. */
  push(part: Buffer): Buffer {
    const bytes = this.#held === undefined ? part : Buffer.concat([this.#held, part]);
    const end = Math.min(...WELL_KNOWN.map((wellKnown) => this.#replace(bytes, wellKnown)));
    this.#held = end < bytes.length ? Buffer.from(bytes.subarray(end)) : undefined;
    return bytes.subarray(0, end);
  }

  /** Returns the last bytes, including those held back. */
  finish(last: Buffer = Buffer.alloc(0)): Buffer {
    const bytes = this.push(last);
    return this.#held === undefined ? bytes : Buffer.concat([bytes, this.#held]);
  }

  /** Replaces in place, and returns the index from which more bytes are needed. */
  #replace(bytes: Buffer, { start, pattern, withoutPort }: WellKnownText): number {
    for (let at = bytes.indexOf(start); at >= 0; at = bytes.indexOf(start, at + 1)) {
      pattern.lastIndex = 0;
      const [text, port] = pattern.exec(bytes.toString('latin1', at, at + MAX_MATCH_CHARS)) ?? [];
      if (text === undefined && at + MAX_MATCH_CHARS > bytes.length) return at;
      if (text !== undefined && Number(port) === this.#targetPort) {
        bytes.write(withoutPort(text, port as string), at, 'latin1');
      }
    }
    const last = Math.max(0, bytes.length - start.length + 1);
    for (let at = last; at < bytes.length; at += 1) {
      if (start.startsWith(bytes.toString('latin1', at))) return at;
    }
    return bytes.length;
  }
}

/**
 * Whether a request asks for a script. Browsers say so if the page is https or on localhost;
 * otherwise the file name decides.
 */
export function asksForScript({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): boolean {
  const dest = headers['sec-fetch-dest'];
  return dest === undefined ? /\.m?js(?:\?|$)/.test(url) : dest === 'script';
}

/** Whether a response is a complete script without encoding. */
export function isPlainScript({ status, rawHeaders }: Pick<ResponseHead, 'status' | 'rawHeaders'>): boolean {
  if (status !== 200) return false;
  let isScript = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase();
    if (name === 'content-encoding' && rawHeaders[at + 1]?.toLowerCase() !== 'identity') return false;
    if (name === 'content-type') isScript = /javascript/i.test(rawHeaders[at + 1] as string);
  }
  return isScript;
}
