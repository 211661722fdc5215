import { ownerOf } from './drop-root.ts';
import { chainOf } from './end-processes.ts';
import { isAlive, type ProcessIdentity } from './process-identity.ts';
import type { SandboxFolder } from './sandbox-folder.ts';

/** Where file systems can be mounted from outside so that they appear in a running sandbox. */
export interface MountNamespace {
  /**
   * A process in the user and mount namespace beside the sandbox, the parent of the sandbox's own
   * namespaces.
   */
  readonly holder: ProcessIdentity;
  /** Owner of that user namespace if the host is root. */
  readonly owner: number | undefined;
  /**
   * The sandbox's path `inside` is the holder's path `beside`; only Porthole writes to `own`, its
   * path on the host.
   */
  readonly folders: readonly {
    readonly inside: string;
    readonly beside: string;
    readonly own?: string;
  }[];
}

/**
 * Undefined if no mount can reach the sandbox: it is not isolated, does not run, or was started by
 * a host without shared folders.
 */
export function mountNamespace(id: string, folder: SandboxFolder): MountNamespace | undefined {
  const started = folder.started();
  if (started?.shared === undefined) return undefined;
  const chain = chainOf(started.process);
  const holder = started.isolation === 'bubblewrap' ? chain[1] : chain[0];
  if (holder === undefined || !isAlive(holder)) return undefined;
  const { workspace, mounts } = started.shared;
  return {
    holder,
    owner: ownerOf(id),
    folders: [
      { inside: '/mnt', beside: mounts, own: folder.mounts },
      { inside: '/workspace', beside: workspace },
    ],
  };
}
