import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CODE_FOLDER } from '#protocol/guest/code-protocol.ts';
import { INSIDE } from './runtime-files.ts';

/** Host folders that a sandbox sees, by name, so that they can be mounted from another path. */
export interface Sources {
  readonly node: string;
  readonly runtime: string;
  readonly workspace: string;
  /** The guest's folder for the output of processes. */
  readonly state?: string;
  /** The folder of the socket through which the sandbox reaches the host. */
  readonly channel?: string;
  /** Holds the mount points of buckets; mounted as /mnt. */
  readonly mounts: string;
  readonly npm?: string;
  readonly pty?: string;
  /** The code interpreter; empty until it is installed. */
  readonly code?: string;
  readonly nodeModules?: string;
  /** The folder in which the guest makes its socket, if it gets none from outside. */
  readonly listen?: string;
  /** gVisor's program. Not shown inside. */
  readonly runsc?: string;
  /** The folder of the memory that gVisor starts with. Not shown inside. */
  readonly image?: string;
}

/** One entry of a sandbox's file system. Paths that are not listed do not exist inside. */
export type ViewEntry =
  | { readonly kind: 'show'; readonly from: string; readonly at: string; readonly writable: boolean }
  | { readonly kind: 'link'; readonly to: string; readonly at: string }
  | { readonly kind: 'memory'; readonly at: string; readonly mode: string; readonly mebibytes: number };

/**
 * The files of /etc that programs need; never the whole: it holds `shadow`, keys and host names.
 */
const ETC =
  `alternatives ca-certificates ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types nsswitch.conf
  pki/tls/certs protocols services ssl/certs ssl/openssl.cnf terminfo`.split(/\s+/);

/** Parts of /proc that the host's uid 0 could abuse even without capabilities. */
export const PROC_READ_ONLY = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs'] as const;

/**
 * Size of each folder in memory, in MiB; an unlimited tmpfs could take half of the machine's
 * memory. Enough for a build's temporary files, and in HOME for npm's caches (a few hundred MiB for
 * a large application); 64 is the container engines' size of /dev/shm.
 */
export const MEMORY = { tmp: 1024, home: 512, varTmp: 64, shm: 64 } as const;

/**
 * Sizes of the in-memory file systems, which count as the sandbox's memory. If all are full, 3/16
 * of the memory remains, so that a process can start and empty them.
 */
function inMemory(memoryMb: number): Record<keyof typeof MEMORY, number> {
  const { tmp, home, varTmp, shm } = MEMORY;
  const part = Math.min(1, ((memoryMb / 16) * 13) / (tmp + home + varTmp + shm));
  const size = (mebibytes: number): number => Math.max(1, Math.floor(mebibytes * part));
  return { tmp: size(tmp), home: size(home), varTmp: size(varTmp), shm: size(shm) };
}

const OURS = '/opt/porthole';

export const INSIDE_PATHS = {
  node: INSIDE.node,
  guest: `${OURS}/guest/guest.js`,
  helper: `${OURS}/guest/launch-helper.mts`,
  pty: `${OURS}/pty`,
  state: '/var/lib/porthole',
  channel: '/run/porthole',
  listen: '/run/porthole-guest',
} as const;

/** The environment of every command: nothing of the host's. */
export function insideEnvironment(id: string): Record<string, string> {
  return {
    // Go installs itself into /usr/local/go.
    PATH: '/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin',
    HOME: INSIDE.home,
    USER: 'sandbox',
    LANG: 'C.UTF-8',
    WORKSPACE: '/workspace',
    SANDBOX_ID: id,
  };
}

/** @param memoryMb the sandbox's memory limit */
export function sandboxView(sources: Sources, memoryMb = Infinity): ViewEntry[] {
  const memory = inMemory(memoryMb);
  const show = (from: string, at: string, writable = false): ViewEntry => ({
    kind: 'show',
    from,
    at,
    writable,
  });
  const entries: ViewEntry[] = [show('/usr', '/usr')];
  for (const name of ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']) {
    const stat = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) entries.push({ kind: 'link', to: readlinkSync(`/${name}`), at: `/${name}` });
    else if (stat?.isDirectory()) entries.push(show(`/${name}`, `/${name}`));
  }
  for (const name of ETC) if (existsSync(`/etc/${name}`)) entries.push(show(`/etc/${name}`, `/etc/${name}`));
  for (const name of ['passwd', 'group', 'hosts']) {
    entries.push(show(join(sources.runtime, 'etc', name), `/etc/${name}`));
  }
  entries.push(
    show(sources.node, INSIDE_PATHS.node),
    show(join(sources.runtime, 'guest'), `${OURS}/guest`),
    { kind: 'memory', at: '/tmp', mode: '1777', mebibytes: memory.tmp },
    { kind: 'memory', at: '/var/tmp', mode: '1777', mebibytes: memory.varTmp },
    { kind: 'memory', at: '/dev/shm', mode: '1777', mebibytes: memory.shm },
    { kind: 'memory', at: INSIDE.home, mode: '0755', mebibytes: memory.home },
    show(sources.workspace, '/workspace', true),
    // The home of E2B's user.
    { kind: 'link', to: '/workspace', at: '/home/user' },
    show(sources.mounts, '/mnt'),
  );
  if (sources.state !== undefined) entries.push(show(sources.state, INSIDE_PATHS.state, true));
  if (sources.channel !== undefined) entries.push(show(sources.channel, INSIDE_PATHS.channel));
  if (sources.listen !== undefined) entries.push(show(sources.listen, INSIDE_PATHS.listen, true));
  if (sources.pty !== undefined) entries.push(show(sources.pty, INSIDE_PATHS.pty));
  if (sources.code !== undefined) entries.push(show(sources.code, CODE_FOLDER));
  if (sources.nodeModules !== undefined) entries.push(show(sources.nodeModules, '/node_modules'));
  if (sources.npm !== undefined) {
    entries.push(show(sources.npm, '/opt/node/lib/node_modules/npm'));
    for (const name of ['npm', 'npx']) {
      entries.push({
        kind: 'link',
        to: `../lib/node_modules/npm/bin/${name}-cli.js`,
        at: `/opt/node/bin/${name}`,
      });
    }
  }
  return entries;
}

/**
 * The npm that started this process: the `node` package alone contains none. Undefined for another
 * package manager.
 */
export function findNpm(execPath = process.env['npm_execpath']): string | undefined {
  if (execPath === undefined) return undefined;
  const root = dirname(dirname(execPath));
  try {
    const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name?: unknown };
    return name === 'npm' ? root : undefined;
  } catch {
    return undefined;
  }
}

/** The folder of node-pty's native part for this platform. Undefined if it is not installed. */
export function findPty(): string | undefined {
  try {
    const wrapper = createRequire(import.meta.url).resolve('@lydell/node-pty');
    const native = `@lydell/node-pty-${process.platform}-${process.arch}/pty.node`;
    return dirname(createRequire(wrapper).resolve(native));
  } catch {
    return undefined;
  }
}
