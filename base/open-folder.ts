import { chmodSync, statSync } from 'node:fs';

/** Mode bits that the owner needs to use a folder. */
const OWN = 0o700;

/**
 * Makes a folder accessible again that its own user has closed, as by `chmod 000 .`: otherwise
 * nothing would work in it. The guest does it for commands, a host for the guest.
 */
export function openFolder(path: string): void {
  try {
    const { mode } = statSync(path);
    if ((mode & OWN) !== OWN) chmodSync(path, (mode & 0o777) | OWN);
  } catch {
    // Gone, or another user's: later calls report the failure.
  }
}
