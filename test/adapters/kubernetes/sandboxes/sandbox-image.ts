import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { guestDigest } from '#adapters/guest/guest-bundle.ts';
import { guestRuntime, guestCache } from '#adapters/guest/guest-runtime.ts';
import { GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';
import type { Cluster } from '#test/cluster/fixture/cluster.ts';
import { busyboxEntries } from '#test/cluster/fixture/fixture-images.ts';
import { command } from '#test/cluster/fixture/command.ts';
import { image } from '#test/cluster/fixture/image.ts';
import type { TarEntry } from '#test/cluster/fixture/tar.ts';

/**
 * An image with dash as sh, bash, tar, grep, ps, node, the other commands of the contracts, as on
 * this machine, and the guest. Its name changes with its content.
 */
export const SANDBOX_IMAGE = `porthole.test/sandbox:${createHash('sha256')
  .update(guestDigest())
  .update(readFileSync(import.meta.filename))
  .digest('hex')
  .slice(0, 16)}`;

/** Skipped if this machine has none. */
const PROGRAMS =
  'base64 basename bash cat chmod cp curl dash date dd dirname echo env false find grep head id kill ln ls mkdir mkfifo mktemp mv od printenv printf ps readlink rm rmdir sed seq setsid sha256sum sleep sort stat stty tail tar test touch tr true tty wc yes';
/** Only busybox and the guest. */
export const PLAIN_IMAGE = SANDBOX_IMAGE.replace('/sandbox:', '/plain:');

/** Imports the image on the cluster's nodes. */
export function importSandboxImage(cluster: Cluster): Promise<void> {
  return imported(cluster, SANDBOX_IMAGE, async () => sandboxImage(SANDBOX_IMAGE, [], await guestEntries()));
}

export function importPlainImage(cluster: Cluster): Promise<void> {
  return imported(cluster, PLAIN_IMAGE, async () =>
    image({ reference: PLAIN_IMAGE, root: [...(await busyboxEntries()), ...(await guestEntries())] }),
  );
}

/** The guest and nothing else, like images/guest. */
export const GUEST_IMAGE = SANDBOX_IMAGE.replace('/sandbox:', '/guest:');

export function importGuestImage(cluster: Cluster): Promise<void> {
  return imported(cluster, GUEST_IMAGE, async () =>
    image({ reference: GUEST_IMAGE, root: await guestEntries() }),
  );
}

/** For sandboxes with this machine's Python. */
export const PYTHON_IMAGE = SANDBOX_IMAGE.replace('/sandbox:', '/python:');

export function importPythonImage(cluster: Cluster): Promise<void> {
  return imported(cluster, PYTHON_IMAGE, async () =>
    sandboxImage(PYTHON_IMAGE, ['python3'], [...(await guestEntries()), ...(await pythonEntries())]),
  );
}

/** Folders of the standard library that no program imports. */
const SKIPPED = new Set(['__pycache__', 'test', 'tests', 'dist-packages', 'site-packages']);

/** Time zones, which Python reads. */
const ZONES = '/usr/share/zoneinfo';

/** Libraries that native modules of bundlers load. */
const BUNDLER_LIBRARIES = ['libgcc_s.so.1', 'librt.so.1', 'libutil.so.1'];

/** The standard library with the shared libraries of its native modules. */
async function pythonEntries(): Promise<TarEntry[]> {
  const cwd = dirname(await command(['/usr/bin/python3', '-c', 'print(__import__("os").__file__)']));
  const files = globSync('**', { cwd, exclude: (name) => SKIPPED.has(name) });
  const entries = files.flatMap((path) => entryOf(join(cwd, path)));
  const native = globSync('lib-dynload/*.so', { cwd }).map((path) => join(cwd, path));
  const linked = await command(['ldd', ...native]);
  const libraries = new Set([...linked.matchAll(/=> (\/\S+\.so\S*)/g)].map(([, path = '']) => path));
  const libc = [...libraries].find((path) => path.includes('libc.so')) ?? '';
  for (const name of BUNDLER_LIBRARIES) libraries.add(join(dirname(libc), name));
  const zones = globSync('**', { cwd: ZONES, exclude: (name) => name === 'posix' || name === 'right' });
  entries.push(...zones.flatMap((path) => entryOf(join(ZONES, path))));
  return [...entries, ...[...libraries].flatMap((path) => entryOf(path, path.replace(/^\/lib/, '/usr/lib')))];
}

/** A file or folder of this machine, under the same path in the image. */
function entryOf(from: string, to = from): TarEntry[] {
  const found = statSync(from);
  const path = to.slice(1);
  if (found.isDirectory()) return [{ kind: 'folder', path: `${path}/`, mode: 0o755 }];
  return [{ kind: 'file', path, mode: found.mode & 0o777, content: readFileSync(from) }];
}

async function imported(cluster: Cluster, reference: string, make: () => Promise<Uint8Array>): Promise<void> {
  if (await cluster.hasImage(reference)) return;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-image-'));
  try {
    const archive = join(folder, 'image.tar');
    writeFileSync(archive, await make());
    await cluster.importImage(archive);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The archive of such an image, under that name. `more` lists further programs of /usr/bin. */
export async function sandboxImage(
  reference: string,
  more: readonly string[] = [],
  entries: readonly TarEntry[] = [],
): Promise<Uint8Array> {
  return image({
    reference,
    root: [...(await rootEntries([...new Set([...PROGRAMS.split(' '), ...more])])), ...entries],
    command: ['sleep', 'infinity'],
    user: '1000:1000',
  });
}

/** The guest's folder, as `COPY --from` puts it into an image. */
export async function guestEntries(): Promise<TarEntry[]> {
  const folder = await guestRuntime(guestCache(process.env));
  const place = GUEST_FOLDER.slice(1);
  return globSync('**', { cwd: folder })
    .toSorted()
    .map((path): TarEntry => {
      const file = join(folder, path);
      const found = statSync(file);
      return found.isDirectory()
        ? { kind: 'folder', path: join(place, path, '/'), mode: 0o755 }
        : { kind: 'file', path: join(place, path), mode: found.mode & 0o777, content: readFileSync(file) };
    });
}

async function rootEntries(names: readonly string[]): Promise<TarEntry[]> {
  const programs = names.map((name) => `/usr/bin/${name}`).filter((path) => existsSync(path));
  const node = process.execPath;
  const libraries = new Set<string>();
  for (const path of [...programs, node]) {
    const listed = await command(['ldd', path]).catch(() => '');
    // Some are found in /lib and others in /usr/lib, which are the same folder.
    for (const [, library = ''] of listed.matchAll(/(\/\S+\.so\S*)/g))
      libraries.add(library.replace(/^\/usr/, ''));
  }
  const file = (path: string, from: string): TarEntry => ({
    kind: 'file',
    path,
    mode: 0o755,
    content: readFileSync(realpathSync(from)),
  });
  const folder = (path: string, mode = 0o755): TarEntry => ({ kind: 'folder', path, mode });
  const link = (path: string, target: string): TarEntry => ({ kind: 'link', path, target });
  const text = (path: string, content: string): TarEntry => ({
    kind: 'file',
    path,
    mode: 0o644,
    content: Buffer.from(content),
  });
  const parents = new Set<string>();
  const placed = [...libraries].map((library) => `usr${library}`);
  for (const path of placed) {
    const parts = path.split('/').slice(0, -1);
    parts.forEach((_, at) => parents.add(`${parts.slice(0, at + 1).join('/')}/`));
  }
  return [
    ...new Set(['usr/', 'usr/bin/', 'usr/lib/', 'usr/lib64/', ...parents, 'etc/', 'proc/', 'dev/', 'sys/']),
  ]
    .map((path) => folder(path))
    .concat(
      folder('tmp/', 0o1777),
      folder('workspace/', 0o777),
      ...['bin', 'lib', 'lib64'].map((name) => link(name, `usr/${name}`)),
      ...[...libraries].map((library, at) => file(placed[at] ?? '', library)),
      ...programs.map((path) => file(`usr/bin/${basename(path)}`, path)),
      link('usr/bin/sh', 'dash'),
      file('usr/bin/node', node),
      text('etc/passwd', 'root:x:0:0::/root:/bin/sh\nsandbox:x:1000:1000::/home/sandbox:/bin/sh\n'),
    );
}
