/** Decides when a sandbox is measured, and which one is stopped. Pure. Sizes in bytes. */

const MEBIBYTE = 2 ** 20;
/** Bytes that a sandbox stopped for its size may add until its files are deleted. */
export const SLACK = 4 * MEBIBYTE;
/** Sandboxes that grew less are not the cause of a full disk. */
const LEAST_GROWTH = 8 * MEBIBYTE;
/** A change elsewhere on the disk may hide the growth of a sandbox for this time. */
const OLDEST_MS = 60_000;

/** A sandbox as it was measured last. */
export interface Measured {
  readonly bytes: number;
  /** Free on the disk at that time. */
  readonly free: number;
  readonly at: number;
}

/**
 * Whether to measure the sandbox: it may have reached its limit since the last measurement, which
 * reads all folders.
 */
export function isDue(
  last: Measured | undefined,
  limit: number,
  now: { readonly free: number; readonly at: number; readonly isLow: boolean },
): boolean {
  if (last === undefined || now.isLow || now.at - last.at >= OLDEST_MS) return true;
  return last.free - now.free >= (limit - last.bytes) / 2;
}

/** Why it is stopped for its own limit; undefined if it is within the limit. */
export function whyOverLimit(bytes: number, limit: number, allowed: number): string | undefined {
  if (bytes <= Math.max(limit, allowed)) return undefined;
  return `its files take ${inMebibytes(bytes)} MiB, and its disk has ${inMebibytes(limit)} MiB (disk_mb)`;
}

/** One measurement while the disk of the machine is full. */
export interface Growth {
  readonly id: string;
  readonly bytes: number;
  /** Since the disk had space. */
  readonly grown: number;
}

/** Which sandbox is stopped when the disk of the machine is full: the one that grew most. */
export function fillsDisk(found: readonly Growth[]): { id: string; why: string } | undefined {
  const [most] = found.toSorted((a, b) => b.grown - a.grown || b.bytes - a.bytes);
  if (most === undefined || most.grown < LEAST_GROWTH) return undefined;
  const why = `the disk of the machine is full, and of all sandboxes its files grew most, by ${inMebibytes(most.grown)} MiB`;
  return { id: most.id, why };
}

function inMebibytes(bytes: number): number {
  return Math.ceil(bytes / MEBIBYTE);
}
