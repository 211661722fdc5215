import { closeSync, readdirSync, readFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes descriptors above `last` that came down from whoever started the host, a terminal's or a build server's pipes, so that no command
 * holds them. Node's own are marked to close when a program is started; those are left alone.
 */
export function closeInherited(last: number): void {
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor <= last) continue;
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1'))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor);
    } catch {
      // The listing's own descriptor is gone by now.
    }
  }
}
