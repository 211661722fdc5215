/**
 * The guest: the program that does everything that happens inside a sandbox. Started as
 * `node guest.js <GuestSettings as JSON>`; it serves HTTP/1.1 and WebSocket on one socket.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { closeInherited, protectGuest } from './protect-guest.ts';
import { readSettings } from './protocol/settings-protocol.ts';
import { serveGuest } from './serve-guest.ts';

/**
 * Between two looks, in milliseconds. The guest's own children are buried by Node within one turn
 * of its loop.
 */
const PAUSE_MS = 1_000;

/** waitpid(2): returns at once. */
const WNOHANG = 1;

interface ForeignCalls {
  load(library: null): {
    func(name: string, result: string, parameters: string[]): (...values: unknown[]) => number;
  };
}

/**
 * Buries orphans. As the first process of a container the guest becomes the parent of what commands
 * leave behind, and Node waits for its own children alone: without this, each would stay a zombie
 * and count against the limit of processes. A zombie that two looks find is none of Node's, so that
 * no exit of a command is taken from it.
 * @param addon file of the foreign function interface
 */
function reapOrphans(addon: string): void {
  const calls = createRequire(import.meta.url)(addon) as ForeignCalls;
  const waitpid = calls.load(null).func('waitpid', 'int', ['int', 'void *', 'int']);
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

/** Zombies whose parent is this process. */
function orphans(): number[] {
  const own = String(process.pid);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        // The name in parentheses may hold anything (proc(5)).
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

// The host stops reading it once the guest runs.
process.stderr.on('error', () => {});

const settings = readSettings(process.argv[2]);
closeInherited('fd' in settings.listen ? settings.listen.fd : 2);
const fail = (error: unknown): never => {
  process.stderr.write(`porthole-guest: ${String(error)}\n`);
  process.exit(1);
};
serveGuest(settings).then((guest) => protectGuest(() => guest.endCommands()), fail);
if (process.pid === 1) reapOrphans(join(import.meta.dirname, 'calls.node'));
