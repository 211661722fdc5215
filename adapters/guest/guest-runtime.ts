/**
 * The folder that sandboxes see as `/porthole`: the guest, and all that it needs to run in any
 * image, including one without a libc. It is built once per version, from files of this machine and
 * the project, and is immutable afterwards.
 *
 *     const folder = await guestRuntime(guestCache(process.env));
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PortholeError } from '#base/errors.ts';
import { GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';
import { loaderOf, relocateProgram } from './elf-file.ts';
import { bundleGuest } from './guest-bundle.ts';

const PLACES = { loader: `${GUEST_FOLDER}/ld`, libraries: `${GUEST_FOLDER}/lib` } as const;

/** Increment when files move within the folder. */
const LAYOUT = 2;

const PTY_PACKAGE = `@lydell/node-pty-linux-${process.arch}`;
const CALLS_PACKAGE = `@koromix/koffi-linux-${process.arch}`;

const require = createRequire(import.meta.url);

/** The path of a package's file; undefined where the package is not installed. */
type FindFile = (path: string) => string | undefined;

/** Parent of these folders: `PORTHOLE_CACHE_DIR`, else `porthole` in the user's cache folder. */
export function guestCache(env: NodeJS.ProcessEnv): string {
  const own = env['PORTHOLE_CACHE_DIR'];
  if (own) return join(resolve(own), 'guest');
  return join(resolve(env['XDG_CACHE_HOME'] || join(homedir(), '.cache')), 'porthole', 'guest');
}

/** Folders that this process has built or found, by cache: finding one reads 110 MB. */
const built = new Map<string, string>();

/**
 * The folder below `cache`, built once a process: the files that it is made of belong to an
 * installation, which a process does not outlive.
 */
export async function guestRuntime(cache: string): Promise<string> {
  const known = built.get(cache);
  if (known !== undefined && existsSync(known)) return known;
  const folder = await buildGuestRuntime(cache);
  built.set(cache, folder);
  return folder;
}

/**
 * Creates the folder below `cache` and resolves to its path; its last part is the version, 16 hex
 * digits.
 * @throws PortholeError `internal_error` that names what is missing; nothing is written then
 */
export async function buildGuestRuntime(cache: string, find: FindFile = optional): Promise<string> {
  if (process.platform !== 'linux') {
    throw missing(
      `it is made on Linux, not on ${process.platform}. Run Porthole on Linux for sandboxes in containers`,
    );
  }
  const addons = addonsOf(find);
  const node = nodeProgram(find);
  const programs = await bundleGuest();
  const program = readFileSync(node);
  const loader = loaderOf(program);
  const libraries = await librariesOf(loader, [node, ...addons.map(([, path]) => path)]);
  const files = [node, loader, ...libraries, ...addons.map(([, path]) => path)];
  const digest = createHash('sha256').update(JSON.stringify([PLACES, LAYOUT, programs]));
  for (const file of files) digest.update(file).update(file === node ? program : readFileSync(file));
  const folder = join(cache, digest.digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;

  const fresh = `${folder}.${process.pid}`;
  mkdirSync(join(fresh, 'lib'), { recursive: true, mode: 0o755 });
  writeFileSync(join(fresh, 'node'), relocateProgram(program, PLACES), { mode: 0o755 });
  for (const [from, to] of [
    [loader, 'ld'],
    ...libraries.map((path) => [path, join('lib', basename(path))]),
    ...addons.map(([name, path]) => [path, name]),
  ] as [string, string][]) {
    copyFileSync(from, join(fresh, to), constants.COPYFILE_FICLONE);
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(fresh, name), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
  }
  // On the PATH of every command: commands must not find this Node there.
  mkdirSync(join(fresh, 'bin'), { mode: 0o755 });
  symlinkSync('../porthole', join(fresh, 'bin/porthole'));
  try {
    renameSync(fresh, folder);
  } catch (error) {
    // Another process was faster and wrote the same content.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/**
 * The project's Node where its package is installed (runs on glibc 2.28 and later), else the
 * current one.
 */
function nodeProgram(find: FindFile): string {
  const own = find(`node-linux-${process.arch}/package.json`);
  return own === undefined ? process.execPath : join(dirname(own), 'bin/node');
}

/**
 * Native addons. Without calls.node, the guest exits at startup in a container; without pty.node,
 * it has no terminals.
 */
function addonsOf(find: FindFile): (readonly [name: string, path: string])[] {
  const calls = find(`${CALLS_PACKAGE}/linux_${process.arch}/koffi.node`);
  if (calls === undefined) {
    throw missing(
      `${CALLS_PACKAGE} is not installed. Run npm ci without --omit=optional, on the architecture of the sandboxes`,
    );
  }
  const pty = find(`${PTY_PACKAGE}/pty.node`);
  return [['calls.node', calls], ...(pty === undefined ? [] : [['pty.node', pty] as const])];
}

function missing(what: string): PortholeError {
  return new PortholeError('internal_error', `The guest cannot be built: ${what}.`);
}

function optional(path: string): string | undefined {
  try {
    return require.resolve(path);
  } catch {
    return undefined;
  }
}

/**
 * The shared libraries that these files need, as their own loader finds them on this machine.
 * @throws Error that names the library that is missing
 */
async function librariesOf(loader: string, files: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const file of files) {
    const { stdout } = await promisify(execFile)(loader, ['--list', file], { env: {} });
    const [, absent] = /^[ \t]*(\S+) => not found/m.exec(stdout) ?? [];
    if (absent !== undefined) throw new Error(`${basename(file)} needs ${absent}, which this machine lacks`);
    for (const [, path = ''] of stdout.matchAll(/ => (\/\S+)/g)) found.add(path);
  }
  found.delete(loader);
  return [...found].toSorted();
}
