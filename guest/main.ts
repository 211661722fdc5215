/**
 * The guest: the program that does everything that happens inside a sandbox. Started as
 * `node guest.js <GuestSettings as JSON>`; it serves HTTP/1.1 and WebSocket on one socket.
 */
import { join } from 'node:path';
import { closeInherited, protectGuest } from './protect-guest.ts';
import { readSettings } from './protocol/settings.ts';
import { reapOrphans } from './reap-orphans.ts';
import { serveGuest } from './serve-guest.ts';

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
