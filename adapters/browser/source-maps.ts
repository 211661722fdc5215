import { SourceMap, type SourceMapPayload } from 'node:module';
import type { SourcePlace } from '#core/pages/page-browser.ts';
import type { PageFrame } from './isolated-world.ts';

/** A position in a script as V8 reports it: 0-based. */
export interface ScriptPlace {
  readonly url: string;
  readonly line: number;
  readonly column: number;
}

const MAX_SCRIPTS = 12;
const MAX_MAP_BYTES = 8 * 1_048_576;

/**
 * Finds the original file, line and column of positions in the page's scripts, with their source
 * maps where they have any. Maps are page content: a broken or hostile one is ignored.
 */
export class SourceMaps {
  readonly #frame: PageFrame;
  readonly #origin: string;
  /** The request that loaded a script, by URL. */
  readonly #requests: ReadonlyMap<string, string>;
  readonly #maps = new Map<string, Promise<Map | undefined>>();
  /** Characters of maps that this page may still have read: one of 8 MiB takes a second or two. */
  #left = MAX_MAP_BYTES;

  constructor(frame: PageFrame, origin: string, requests: ReadonlyMap<string, string>) {
    this.#frame = frame;
    this.#origin = origin;
    this.#requests = requests;
  }

  async original({ url, line, column }: ScriptPlace): Promise<SourcePlace | null> {
    const plain = servedPlace({ url, line, column }, this.#origin);
    if (plain === null) return null;
    const map = await this.#mapOf(url);
    // Modules that webpack evaluates: these are lines of the generated code.
    if (map === undefined && url.startsWith('webpack')) return { ...plain, line: null, column: null };
    if (map === undefined) return plain;
    const entry = map.map.findEntry(line, column);
    if (!('originalSource' in entry) || typeof entry.originalSource !== 'string') return plain;
    const source = URL.canParse(entry.originalSource, map.url)
      ? new URL(entry.originalSource, map.url).href
      : entry.originalSource;
    return {
      file: fileOf(source, this.#origin),
      line: entry.originalLine + 1,
      column: entry.originalColumn + 1,
    };
  }

  #mapOf(url: string): Promise<Map | undefined> {
    let found = this.#maps.get(url);
    if (found === undefined) {
      if (this.#maps.size >= MAX_SCRIPTS) return Promise.resolve(undefined);
      found = this.#read(url).catch(() => undefined);
      this.#maps.set(url, found);
    }
    return found;
  }

  async #read(url: string): Promise<Map | undefined> {
    const requestId = this.#requests.get(url);
    if (requestId === undefined) return undefined;
    const { body, base64Encoded } = await this.#frame.cdp.send('Network.getResponseBody', { requestId });
    const script = base64Encoded ? Buffer.from(body, 'base64').toString() : body;
    const named = mapNamedIn(script.slice(-MAX_MAP_BYTES));
    if (named === undefined) return undefined;
    const inline = /^data:application\/json[^,]*?(;base64)?,(.*)$/s.exec(named);
    const mapUrl = inline === null ? new URL(named, url).href : url;
    const text =
      inline === null
        ? await this.#load(mapUrl)
        : inline[1] === undefined
          ? decodeURIComponent(inline[2] ?? '')
          : Buffer.from(inline[2] ?? '', 'base64').toString();
    if (text === undefined || text.length > this.#left) return undefined;
    this.#left -= text.length;
    return { map: new SourceMap(JSON.parse(text) as SourceMapPayload), url: mapUrl };
  }

  /** Loads through the browser, so that it reaches only what the page reaches. */
  async #load(url: string): Promise<string | undefined> {
    const { cdp, frameId } = this.#frame;
    const { resource } = await cdp.send('Network.loadNetworkResource', {
      frameId,
      url,
      options: { disableCache: false, includeCredentials: true },
    });
    const handle = resource.stream;
    if (!resource.success || handle === undefined) return undefined;
    let text = '';
    for (;;) {
      const { data, base64Encoded, eof } = await cdp.send('IO.read', { handle, size: 1_048_576 });
      text += base64Encoded === true ? Buffer.from(data, 'base64').toString() : data;
      if (eof) break;
      if (text.length > MAX_MAP_BYTES) return undefined;
    }
    await cdp.send('IO.close', { handle });
    return text;
  }
}

interface Map {
  readonly map: SourceMap;
  readonly url: string;
}

const COMMENT = 'sourceMappingURL=';

/** The URL in the comment that ends a script. */
function mapNamedIn(script: string): string | undefined {
  const at = script.lastIndexOf(COMMENT);
  if (at === -1 || !/[#@]\s{0,3}$/.test(script.slice(Math.max(0, at - 4), at))) return undefined;
  const [url, end = '*/', ...more] = script
    .slice(at + COMMENT.length)
    .trimEnd()
    .split(/\s+/, 3);
  return url === '' || end !== '*/' || more.length > 0 ? undefined : url;
}

/** In the file as it is served, without its source map. */
export function servedPlace({ url, line, column }: ScriptPlace, origin: string): SourcePlace | null {
  return url === '' ? null : { file: fileOf(url, origin), line: line + 1, column: column + 1 };
}

/** The path of a source in the project, derived from its URL. */
export function fileOf(url: string, origin: string): string {
  const path = url
    .replace(origin, '')
    .replace(/^(?:webpack|webpack-internal|turbopack|rsc):\/\/(?:[^/]*\/)?(?:\([\w-]+\)\/)?/, '')
    .replace(/^file:\/\//, '')
    .replace(/^\/@fs/, '')
    .replace(/[?#].*/s, '')
    .replace(/^(?:\/workspace)?[/.]*\//, '')
    .slice(0, 300);
  return path === '' ? '/' : path;
}
