import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { PortholeApi } from './porthole-api.ts';

const PROJECT = join(import.meta.dirname, '../vite');
/** Maximum size of one `PUT …/file/…`. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** Vite's default port. */
export const VITE_PORT = 5173;

/**
 * Sends a gzipped tar into `folder` below /workspace, in pieces within the API's limit, and unpacks
 * it there.
 */
export async function unpackInto(
  api: PortholeApi,
  sandbox: string,
  folder: string,
  packed: Buffer,
): Promise<void> {
  const pieces: string[] = [];
  for (let at = 0; at < packed.length; at += MAX_FILE_BYTES) {
    const piece = `piece-${pieces.length}`;
    await api.write(sandbox, `${folder}/${piece}`, packed.subarray(at, at + MAX_FILE_BYTES));
    pieces.push(piece);
  }
  const unpack = `cat ${pieces.join(' ')} | tar -xzf - --no-same-owner && rm ${pieces.join(' ')}`;
  const { exitCode, output } = await api.exec(sandbox, ['sh', '-c', unpack], folder);
  if (exitCode !== 0) throw new Error(`Vite could not be unpacked in the sandbox: ${output.trim()}`);
}

/** The files of the example project: path → text. */
export function projectFiles(): ReadonlyMap<string, string> {
  const entries = readdirSync(PROJECT, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'));
  return new Map(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [relative(PROJECT, file), readFileSync(file, 'utf8')]),
  );
}

/**
 * Starts the dev server and leaves it running: background processes of a command continue until the
 * sandbox stops.
 */
export async function startDevServer(api: PortholeApi, sandbox: string, folder: string): Promise<void> {
  // `node --run dev` is `npm run dev` without npm.
  const start = '(node --run dev > ../dev.log 2>&1 &)';
  const { exitCode, output } = await api.exec(sandbox, ['sh', '-c', start], folder);
  if (exitCode !== 0) throw new Error(`The dev server could not be started: ${output.trim()}`);
}

/** The dev server's output so far. */
export function devServerLog(api: PortholeApi, sandbox: string): Promise<string> {
  return api.read(sandbox, 'dev.log').catch(() => '');
}
