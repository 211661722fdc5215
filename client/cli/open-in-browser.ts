import { spawn } from 'node:child_process';
import { once } from 'node:events';

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Opens a URL in the user's browser; resolves to whether that was possible. */
export async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
    child.unref();
    return true;
  } catch {
    return false;
  }
}
