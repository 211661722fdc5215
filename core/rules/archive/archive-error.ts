import { PortholeError } from '../../errors.ts';

/** An archive that is not taken, and why. */
export function archiveError(why: string): PortholeError {
  return new PortholeError(
    'invalid_request',
    `The archive is refused: ${why}. Send a plain tar of what belongs below /workspace.`,
  );
}
