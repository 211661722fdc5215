import canonicalize from 'canonicalize';
import { PortholeError } from '../../errors.ts';
import { formatFault, jsonFault } from './json-fault.ts';
import { isTooDeep, MOST_DEPTH } from './json-depth.ts';

/**
 * How many bytes the payload of a snapshot has in its canonical form (RFC 8785): neither white space nor the order of its fields counts.
 * @throws PortholeError `snapshot_too_large` naming both, `invalid_snapshot` for what has no canonical form
 */
export function measureSnapshot(payload: unknown, most: number): number {
  if (isTooDeep(payload)) {
    throw new PortholeError(
      'invalid_snapshot',
      `The snapshot nests deeper than ${MOST_DEPTH} levels: make it flatter.`,
    );
  }
  const fault = jsonFault(payload);
  if (fault !== undefined)
    throw new PortholeError('invalid_snapshot', `The snapshot holds ${formatFault(fault)}.`);
  const bytes = Buffer.byteLength(canonical(payload));
  if (bytes > most) throw snapshotTooLarge(most, `has ${bytes} bytes as canonical JSON`);
  return bytes;
}

export function snapshotTooLarge(most: number, what: string): PortholeError {
  return new PortholeError(
    'snapshot_too_large',
    `The snapshot ${what}; the limit is ${most} bytes: shorten source_code or the schemas.`,
    { details: { limit: most } },
  );
}

function canonical(payload: unknown): string {
  const text = canonicalize(payload);
  if (text === undefined) throw new PortholeError('invalid_snapshot', 'The snapshot is no JSON value.');
  return text;
}
