/**
 * The guest: the program that performs all operations inside a sandbox. Started as `node guest.js
 * <GuestSettings as JSON>`; it serves HTTP/1.1 and WebSocket on one socket.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { closeInherited, hideGuest, protectGuest } from './protect-guest.ts';
import { loadLibrary } from '../base/foreign-calls.ts';
import { readSettings } from '../protocol/guest/settings-protocol.ts';
import { serveGuest } from './serve-guest.ts';

/**
 * Polling interval in milliseconds. Node reaps the guest's own children within one turn of its
 * loop.
 */
const PAUSE_MS = 1_000;

/** waitpid(2): returns at once. */
const WNOHANG = 1;

/**
 * Reaps orphans. As pid 1 of a container the guest becomes the parent of orphaned processes, and
 * Node waits for its own children only: each orphan would stay a zombie and count against the
 * process limit. A zombie that two polls find is not Node's, so no exit of a command is lost.
 */
function reapOrphans(): void {
  const waitpid = loadLibrary().func('waitpid', 'int', ['int', 'void *', 'int']);
  let seen = new Set<number>();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    timer = undefined;
    const zombies = orphans();
    for (const pid of zombies) if (seen.has(pid)) waitpid(pid, null, WNOHANG);
    seen = new Set(zombies);
    if (zombies.length > 0) later();
  };
  const later = (): void => {
    timer ??= setTimeout(look, PAUSE_MS).unref();
  };
  process.on('SIGCHLD', later);
}

/** Zombies that are children of this process. */
function orphans(): number[] {
  const own = String(process.pid);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        // The name in parentheses may contain anything (proc(5)).
        const [state, parent] = readFileSync(`/proc/${name}/stat`, 'latin1')
          .replace(/^.*\) /s, '')
          .split(' ');
        return state === 'Z' && parent === own;
      } catch {
        return false;
      }
    })
    .map(Number);
}

// Agents restart their servers with `pkill -f node`, which matches whole command lines.
process.title = 'porthole-guest';

// The host stops reading stderr once the guest runs.
process.stderr.on('error', () => {});

const settings = readSettings(process.argv[2]);
closeInherited('fd' in settings.listen ? settings.listen.fd : 2);
hideGuest();
const fail = (error: unknown): never => {
  process.stderr.write(`porthole-guest: ${String(error)}\n`);
  process.exit(1);
};
serveGuest(settings).then((guest) => protectGuest(() => guest.endCommands()), fail);
if (process.pid === 1) reapOrphans();
