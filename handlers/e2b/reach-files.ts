import { type Caller, performerOf } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { delegatedGuests } from '#core/delegations/delegate-sandbox.ts';
import type { GuestProvider } from '#core/files/guest-files.ts';
import { temporaryFiles } from '#core/files/temporary-files.ts';
import type { Services } from '../services.ts';
import { type E2bPath, readE2bPath } from './home-path.ts';

/** A path in a sandbox, and the calls that reach it. */
export interface ReachedFiles extends E2bPath {
  readonly sandboxes: GuestProvider;
  /** Publishes that a file there has changed. Nothing follows files of `/tmp`. */
  readonly publish: (type: 'file_written' | 'file_deleted', path: string) => void;
}

/**
 * Files of the workspace, or of `/tmp` for those who may run commands, which reach it as well.
 * @throws PortholeError `forbidden`, `path_outside_workspace`, `invalid_request`
 */
export function reachFiles(
  services: Services,
  { caller, sandboxId }: { readonly caller: Caller; readonly sandboxId: string },
  given: string,
): ReachedFiles {
  const read = readE2bPath(given);
  const path = resolveWorkspacePath(read.path, 'path');
  const guests = delegatedGuests(services.sandboxes, caller, path);
  if (!read.isTemporary) {
    return {
      ...read,
      path,
      sandboxes: guests,
      publish: (type, changed) =>
        services.publisher.publish(sandboxId, type, { path: changed, ...performerOf(caller) }),
    };
  }
  if (caller.kind === 'delegate' && !caller.grant.scopes.includes('exec')) {
    throw new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace', {
      remedy: 'use a credential with the scope exec for files of /tmp.',
    });
  }
  return { ...read, path, sandboxes: temporaryFiles(guests), publish: () => undefined };
}
