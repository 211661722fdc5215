import { chmodSync, statSync } from 'node:fs';

/** What the user of a folder needs to work in it. */
const OWN = 0o700;

/** Gives a folder that its own user has shut, as by `chmod 000 .`, back to its user: nothing would work in the sandbox any more. What cannot be mended stays, and fails as it does. */
export function openFolder(path: string): void {
  try {
    const { mode } = statSync(path);
    if ((mode & OWN) !== OWN) chmodSync(path, (mode & 0o777) | OWN);
  } catch {
    // Gone, or another user's.
  }
}
