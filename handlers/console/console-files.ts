import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUNDLED_CONSOLE, CONSOLE_FOLDER, CONSOLE_MARK } from './console-folder.ts';

/** One file of the built console, with what compression made of it. */
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

/** The files of a build, by their path in the folder; none while there is no complete build. */
export interface ConsoleFiles {
  readonly digest: string;
  readonly byPath: ReadonlyMap<string, ConsoleFile>;
}

/** Where a build may lie: beside a function that is a bundle, or in the project. */
const PLACES = [join(import.meta.dirname, BUNDLED_CONSOLE), CONSOLE_FOLDER];

let read: ConsoleFiles | undefined;

/** The build that is there, read again only when there is another one. */
export async function consoleFiles(places: readonly string[] = PLACES): Promise<ConsoleFiles | undefined> {
  for (const folder of places) {
    const digest = await readFile(join(folder, CONSOLE_MARK), 'utf8').catch(() => undefined);
    if (digest === undefined) continue;
    if (read?.digest === digest) return read;
    const byPath = await readBuild(folder).catch((error: unknown) => {
      // Another build takes its place at this very moment.
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
    names.map(async (name) => {
      const type = TYPES[name.split('.').at(-1) ?? ''];
      if (type === undefined) return undefined;
      const [plain, brotli, gzip] = await Promise.all(
        [name, `${name}.br`, `${name}.gz`].map((each) => readFile(join(folder, each)).catch(() => undefined)),
      );
      return plain === undefined ? undefined : ([name, { type, plain, brotli, gzip }] as const);
    }),
  );
  return new Map(entries.filter((each) => each !== undefined));
}
