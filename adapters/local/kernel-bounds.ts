import { existsSync, readFileSync } from 'node:fs';
import { ofLibrary } from '#base/foreign-calls.ts';

/** Number of keyctl(2). */
const KEYCTL: Readonly<Partial<Record<NodeJS.Architecture, number>>> = { x64: 250, arm64: 219 };
const JOIN_SESSION_KEYRING = 1;

const keyctl = ofLibrary((libc) => libc.func('syscall', 'long', ['long', 'long', 'void *']));

/**
 * Gives this thread, and what it starts from now on, a new and empty session keyring. The kernel
 * hands a login's session keyring on through user namespaces, with all rights of its possessor.
 * Does nothing without the addon, or where the user has no room for keys: the system call filter
 * refuses keyctl anyway.
 */
export function joinNewKeyring(): void {
  const number = KEYCTL[process.arch];
  if (process.platform === 'linux' && number !== undefined) keyctl()?.(number, JOIN_SESSION_KEYRING, null);
}

/**
 * Shell: limits inotify for its user namespace and all below it to a share of the host user's
 * limit, because the kernel counts all sandboxes of an ordinary user together. Where /proc/sys is
 * read-only, the limits stay unchanged.
 */
export function boundInotify(): string {
  const part = (name: string, divisor: number): string => {
    const file = `/proc/sys/fs/inotify/max_user_${name}`;
    if (!existsSync(file)) return '';
    const value = Math.floor(Number(readFileSync(file, 'utf8')) / divisor);
    return `echo ${value} 2>/dev/null >/proc/sys/user/max_inotify_${name}\n`;
  };
  return `${part('instances', 4)}${part('watches', 2)}`;
}
