import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Variable of the browser process: the user id that it takes if the host is root. */
export const USER = 'PORTHOLE_BROWSER_USER';

/**
 * Makes this process and what it starts an ordinary user for good: a page that breaks out of
 * Chromium must not be root. Call it when all files of the program are loaded, because this user
 * may be unable to read them, as below /root.
 */
export function leaveRoot(): void {
  const named = process.env[USER];
  if (named === undefined) return;
  const user = Number(named);
  process.setgroups?.([]);
  process.setgid?.(user);
  process.setuid?.(user);
}

/** Whether Chromium can use its own sandbox: it refuses root, and needs namespaces of its user. */
export async function canSandbox(): Promise<boolean> {
  if (process.getuid?.() === 0) return false;
  if (process.platform !== 'linux' || process.env[USER] === undefined) return true;
  try {
    await promisify(execFile)('unshare', ['--user', '--map-root-user', '--net', 'true']);
    return true;
  } catch {
    return false;
  }
}
