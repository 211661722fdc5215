import { once } from 'node:events';
import { existsSync, lstatSync, renameSync, rmSync, watch } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { GuestSettingsInput } from '#protocol/guest/settings-protocol.ts';
import { retry } from '#base/retry.ts';
import { connectToPath, listenInFolder } from '#base/socket-path.ts';
import type { IsolationKind } from './isolation.ts';
import { INSIDE_PATHS, type Sources } from './sandbox-view.ts';
import type { SandboxFolder } from './sandbox-folder.ts';

/**
 * The guest's socket. Its folder is never mounted in a sandbox: nothing inside can replace it by
 * another file or by a link to another socket of the host.
 */
const SOCKET = 'guest.sock';

/** Descriptor of the guest's listener. */
const LISTENER = 3;

/** Pause between two attempts to connect to a socket that is bound and not listening, in ms. */
const PAUSE_MS = 1;

/** Connects to a sandbox's guest. @throws the system's error if nothing listens */
export async function connectToGuestIn(folder: string): Promise<Socket> {
  const socket = connectToPath(join(folder, SOCKET), true);
  await once(socket, 'connect');
  return socket;
}

/** False if a host that was killed during a start has left a guest without its socket. */
export function hasGuestSocket(folder: string, isolation: IsolationKind): boolean {
  return isolation !== 'gvisor' || existsSync(join(folder, SOCKET));
}

/** How a guest gets the socket that it listens on. */
export interface GuestSocket {
  readonly listen: GuestSettingsInput['listen'];
  /** Passed on to the guest's process. */
  readonly listener: Server | undefined;
  /** The folder to mount in the sandbox for it. */
  readonly shows?: Pick<Sources, 'listen'>;
  /** Resolves once the socket is in the sandbox's folder. Call it before the guest starts. */
  ready(signal: AbortSignal): Promise<void>;
}

/** @param owner the sandbox's user, if the host is root */
export async function openGuestSocket(
  folder: SandboxFolder,
  isolation: IsolationKind,
  owner: number | undefined,
): Promise<GuestSocket> {
  if (isolation === 'gvisor') {
    rmSync(join(folder.path, SOCKET), { force: true });
    await folder.makeListen(owner);
    return socketFromInside(folder);
  }
  const listener = createServer();
  await listenInFolder(listener, folder.path, SOCKET);
  return { listen: { fd: LISTENER }, listener, ready: () => Promise.resolve() };
}

/**
 * gVisor takes no listener from outside. The guest makes the socket in a folder that it shares with
 * the host, before other code runs in the sandbox, and the host moves it away.
 */
function socketFromInside(folder: SandboxFolder): GuestSocket {
  return {
    listen: { path: join(INSIDE_PATHS.listen, SOCKET) },
    listener: undefined,
    shows: { listen: folder.listen },
    ready: (signal) => takeGuestSocket(folder, signal),
  };
}

/**
 * Moves the socket that the guest of gVisor makes into the sandbox's folder, once it listens. Call
 * it before the guest makes the socket.
 */
export async function takeGuestSocket(folder: SandboxFolder, signal: AbortSignal): Promise<void> {
  const watcher = watch(folder.listen);
  try {
    await once(watcher, 'change', { signal });
  } finally {
    watcher.close();
  }
  // gVisor finds a bound socket by its path until it listens.
  await untilListening(folder.listen, signal);
  const socket = join(folder.path, SOCKET);
  renameSync(join(folder.listen, SOCKET), socket);
  if (!lstatSync(socket).isSocket()) throw new Error('the guest has made no socket');
}

async function untilListening(folder: string, signal: AbortSignal): Promise<void> {
  const delay = (error: unknown) =>
    (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? PAUSE_MS : undefined;
  (await retry(() => connectToGuestIn(folder), { delay, signal })).destroy();
}
