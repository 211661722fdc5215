import type { Sandbox } from './sandbox.ts';
import { openPlatformSocket, type OpenSocket } from './open-socket.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-options.ts';

/**
 * What differs between browsers and Node. `@porthole/client/node` has Node's; the default runs
 * anywhere.
 */
export interface Platform {
  readonly openSocket: OpenSocket;
  /** Fetches from a preview. Node does not resolve `*.localhost` on every system. */
  readonly fetchPreview: typeof globalThis.fetch;
  /** Sends a folder of this machine to a sandbox. */
  readonly syncFolder: (sandbox: Sandbox, folder: string, options?: SyncOptions) => Promise<SyncResult>;
}

/** The environment variables; empty in browsers. */
export function environment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  };
  return process?.env ?? {};
}

export const ANYWHERE: Platform = {
  openSocket: openPlatformSocket,
  // Called without a receiver: browsers reject `fetch` called as a method.
  fetchPreview: (input, init) => globalThis.fetch(input, init),
  syncFolder: () => {
    throw new TypeError(
      'Folders can be uploaded from Node only: give files by name, e.g. upload({ "index.html": text }).',
    );
  },
};
