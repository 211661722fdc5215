/** Use of servers that a gateway reaches directly: the guest sees no bytes of it. */
import { readEnd, readTable, TABLES } from '../listening-sockets.ts';
import { isOwnAddress } from '../own-address.ts';

/** States of tcp(7) in which a visitor's bytes may still move, and the one after. */
const MOVING = new Set(['01', '04', '05', '09', '0B']);
const TIME_WAIT = '06';
/** How long TIME_WAIT lasts, and a tick of the tables, in milliseconds. */
const [WAITS_MS, TICK_MS] = [60_000, 10];

/**
 * Time since the last connection from outside of this network namespace, in ms, by the port that it
 * reached: 0 while one is open, however silent. The kernel keeps a closed one for a minute, if the
 * server closed it first.
 */
export function idleByPort(ports: ReadonlySet<number>, isOwn = isOwnAddress()): Map<number, number> {
  const idle = new Map<number, number>();
  for (const [, local = '', remote = '', state = '', , timer = ''] of TABLES.flatMap(readTable)) {
    if (state !== TIME_WAIT && !MOVING.has(state)) continue;
    const { port } = readEnd(local);
    if (!ports.has(port) || isOwn(readEnd(remote).address)) continue;
    const left = Number.parseInt(timer.split(':')[1] ?? '', 16) * TICK_MS;
    const ms = state === TIME_WAIT ? Math.max(0, WAITS_MS - left) : 0;
    idle.set(port, Math.min(ms, idle.get(port) ?? ms));
  }
  return idle;
}
