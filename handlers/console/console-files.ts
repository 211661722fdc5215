import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One file of the built console, with what compression made of it. */
export interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly brotli: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

/** Where `npm run build` and `npm start` put the console. */
export const CONSOLE_FOLDER = join(import.meta.dirname, '../../dist/console');
/** Written last: without it a build is not complete. It is the digest of the sources. */
export const CONSOLE_MARK = '.digest';

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

let read: { readonly folder: string; readonly files: ConsoleFiles } | undefined;

/** The build in the folder, read again only when there is a new one. */
export async function consoleFiles(folder = CONSOLE_FOLDER): Promise<ConsoleFiles | undefined> {
  const digest = await readFile(join(folder, CONSOLE_MARK), 'utf8').catch(() => undefined);
  if (digest === undefined) return undefined;
  if (read?.folder === folder && read.files.digest === digest) return read.files;
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
  const files = { digest, byPath: new Map(entries.filter((each) => each !== undefined)) };
  read = { folder, files };
  return files;
}
