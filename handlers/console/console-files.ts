import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zoneNames } from '#core/previews/preview-limits.ts';
import type { HttpResponse } from '../http/http-event.ts';
import type { Services } from '../services.ts';
import { API_VIEWER, BUNDLED_CONSOLE, CONSOLE_FOLDER, CONSOLE_MARK } from './console-folder.ts';

/** State of a missing build. */
export type ConsoleBuild =
  | { readonly state: 'none' | 'under way' }
  /** `words`: the last output of the builder, for a person at this machine. */
  | { readonly state: 'failed'; readonly words: string };

let existing: ConsoleBuild = { state: 'none' };

/** Set by the host that builds the console. Functions on other hosts keep `none`. */
export function setConsoleBuild(build: ConsoleBuild): void {
  existing = build;
}

export function consoleBuild(): ConsoleBuild {
  return existing;
}

/** One file of the built console, with its compressed forms. */
export interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly brotli: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The files of a build, by their path in the folder; empty without a complete build. */
interface ConsoleFiles {
  readonly digest: string;
  readonly byPath: ReadonlyMap<string, ConsoleFile>;
}

/** Possible folders of a build: beside a bundled function or its chunks, or in the project. */
const PLACES = [
  join(import.meta.dirname, BUNDLED_CONSOLE),
  join(import.meta.dirname, '..', BUNDLED_CONSOLE),
  CONSOLE_FOLDER,
];

let read: ConsoleFiles | undefined;

/** The current build, read again only after it changed. */
export async function consoleFiles(places: readonly string[] = PLACES): Promise<ConsoleFiles | undefined> {
  for (const folder of places) {
    const digest = await readFile(join(folder, CONSOLE_MARK), 'utf8').catch(() => undefined);
    if (digest === undefined) continue;
    if (read?.digest === digest) return read;
    const byPath = await readBuild(folder).catch((error: unknown) => {
      // Another build is being put in place.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    });
    return byPath && (read = { digest, byPath });
  }
  return undefined;
}

async function readBuild(folder: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const names = await readdir(folder, { recursive: true });
  const entries = await Promise.all(
    names
      .filter((name) => name !== API_VIEWER)
      .map(async (name) => [name, await readBuilt(folder, name)] as const),
  );
  return new Map(
    entries.flatMap(([name, file]): [string, ConsoleFile][] => (file === undefined ? [] : [[name, file]])),
  );
}

async function readBuilt(folder: string, name: string): Promise<ConsoleFile | undefined> {
  const type = TYPES[name.split('.').at(-1) ?? ''];
  if (type === undefined) return undefined;
  const [plain, brotli, gzip] = await Promise.all(
    [name, `${name}.br`, `${name}.gz`].map((each) => readFile(join(folder, each)).catch(() => undefined)),
  );
  return plain && { type, plain, brotli, gzip };
}

/** Larger than the rest of the console, so it is not kept in memory. */
export async function apiViewer(): Promise<ConsoleFile | undefined> {
  for (const folder of PLACES) {
    const file = await readBuilt(folder, API_VIEWER);
    if (file !== undefined) return file;
  }
  return undefined;
}

/** The response with the form of the file that the client accepts. */
export function encoded(
  { type, plain, brotli, gzip }: ConsoleFile,
  accepted: string | undefined,
  headers: Record<string, string>,
): HttpResponse {
  const names = (accepted ?? '').split(',').map((each) => each.trim().split(';', 1)[0]);
  const [encoding, body] =
    brotli !== undefined && names.includes('br')
      ? ['br', brotli]
      : gzip !== undefined && names.includes('gzip')
        ? ['gzip', gzip]
        : [undefined, plain];
  return {
    statusCode: 200,
    headers: {
      ...headers,
      'content-type': type,
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    },
    body,
  };
}

/**
 * Headers of a console page. CSP: only this origin, and nothing inline. Only previews may be
 * framed: sandboxed, without a referrer.
 */
export function consoleHeaders(
  services: Pick<Services, 'previewSettings' | 'publicUrl'>,
): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "font-src 'self'",
      "connect-src 'self'",
      `frame-src ${previewSources(services)}`,
      "base-uri 'none'",
      // A form brings the frame of a preview its ticket.
      `form-action ${previewSources(services)}`,
      "frame-ancestors 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    // Previews may be same-site: their pages must not share a process with this one.
    'origin-agent-cluster': '?1',
    // With `no-referrer` forms would have no Origin, which previews check.
    'referrer-policy': 'strict-origin',
    'x-content-type-options': 'nosniff',
  };
}

/**
 * CSP sources of previews: below their zones, on any port. A source of http also covers https, but
 * not the reverse.
 */
export function previewSources({
  previewSettings,
  publicUrl,
}: Pick<Services, 'previewSettings' | 'publicUrl'>): string {
  if (!previewSettings.enabled) return "'none'";
  const scheme = publicUrl?.protocol === 'https:' ? 'https' : 'http';
  return zoneNames(previewSettings)
    .map((zone) => `${scheme}://*.${zone}:*`)
    .join(' ');
}
