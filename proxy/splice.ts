import type { Duplex } from 'node:stream';

/** How long one side may stay open after the other has ended its half. */
const HALF_CLOSED_MS = 30_000;

/**
 * Joins two byte streams until both have ended, with back-pressure both ways. Passes on a
 * half-close, and destroys one side if the other ends abruptly. No idle timeout. Calls `onBytes`
 * for every chunk from `a` and from `b`.
 */
export function splice(a: Duplex, b: Duplex, onBytes: (from: 'a' | 'b', count: number) => void): void {
  pump(a, b, (count) => onBytes('a', count));
  pump(b, a, (count) => onBytes('b', count));
  a.resume();
  b.resume();
}

function pump(from: Duplex, to: Duplex, onBytes: (count: number) => void): void {
  from.on('data', (bytes: Buffer) => {
    onBytes(bytes.length);
    if (!to.write(bytes)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.on('end', () => {
    to.end();
    const timer = setTimeout(() => {
      from.destroy();
      to.destroy();
    }, HALF_CLOSED_MS);
    to.once('close', () => clearTimeout(timer));
  });
  from.on('close', () => {
    // After a clean end the last bytes may still be in transit.
    if (!from.readableEnded) to.destroy();
  });
}
