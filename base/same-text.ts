import { timingSafeEqual } from 'node:crypto';

/** In constant time for texts of one length, which is no secret. */
export function isSameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
