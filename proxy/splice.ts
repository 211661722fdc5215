import type { Duplex } from 'node:stream';

/** How long one side may go on alone after the other has ended its half. */
const HALF_CLOSED_MS = 30_000;

/**
 * Joins two byte streams until both have ended: back-pressure both ways, a half-close passed on, an
 * abrupt end of one the abrupt end of the other. No idle timeout. `onBytes` is told of every
 * portion from `a` and from `b`.
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
    // After a clean end, what was written last may still be on its way.
    if (!from.readableEnded) to.destroy();
  });
}
