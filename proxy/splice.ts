import type { Duplex } from 'node:stream';
import { readDirectly } from './direct-socket.ts';

/** Maximum time that one half of a connection stays open after the other has ended. */
const HALF_CLOSED_MS = 30_000;

/**
 * Joins two byte streams until both have ended, with back-pressure both ways. Passes on a
 * half-close, and what one side sent before it failed; destroys one if the other is destroyed. No
 * idle timeout. Calls `onBytes`, which must not keep them, for every chunk from `a` and from `b`.
 * Where one is a direct socket, the other is a socket, too.
 */
export function splice(a: Duplex, b: Duplex, onBytes: (from: 'a' | 'b', bytes: Buffer) => void): void {
  pump(a, b, (bytes) => onBytes('a', bytes));
  pump(b, a, (bytes) => onBytes('b', bytes));
  a.resume();
  b.resume();
}

function pump(from: Duplex, to: Duplex, onBytes: (bytes: Buffer) => void): void {
  from.on('data', (bytes: Buffer) => {
    onBytes(bytes);
    if (!to.write(bytes) && !to.destroyed) from.pause();
  });
  to.on('drain', () => from.resume());
  passDirectly(from, to, onBytes);
  const end = (): void => {
    if (to.destroyed) return;
    to.end();
    const timer = setTimeout(() => {
      from.destroy();
      to.destroy();
    }, HALF_CLOSED_MS);
    to.once('close', () => clearTimeout(timer));
  };
  from.on('end', end);
  from.on('close', () => {
    // After a clean end the last bytes may still be in transit.
    if (from.readableEnded) return;
    if (from.errored === null) {
      to.destroy();
      return;
    }
    // The peer has reset the connection: what it sent before still waits here.
    for (let rest: unknown = from.read(); rest instanceof Buffer; rest = from.read()) {
      onBytes(rest);
      to.write(rest);
    }
    end();
    // A byte left unread would reset this side as well, and the reset drop its last bytes.
    to.resume();
  });
}

/** A socket writes what the kernel accepts at once, and keeps a reference to the rest. */
function passDirectly(from: Duplex, to: Duplex, onBytes: (bytes: Buffer) => void): void {
  let isFull = false;
  const written = (): void => {
    if (!isFull || to.writableLength > 0) return;
    isFull = false;
    from.resume();
  };
  const isDirect = readDirectly(from, (bytes) => {
    onBytes(bytes);
    to.write(bytes, written);
    isFull = to.writableLength > 0 && !to.destroyed;
    return !isFull;
  });
  // Emits what the stream has received before, so that it is written first.
  if (isDirect) from.read();
}
