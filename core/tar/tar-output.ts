import { PortholeError } from '../errors.ts';

/** An archive that is not taken. */
export class ArchiveError extends PortholeError {
  /** In a few words. */
  readonly why: string;

  constructor(why: string) {
    super(
      'invalid_request',
      `The archive is refused: ${why}. Send a plain tar of what belongs below /workspace.`,
    );
    this.why = why;
  }
}

/** An archive that is not taken, and why. */
export function archiveError(why: string): ArchiveError {
  return new ArchiveError(why);
}
