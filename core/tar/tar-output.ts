import { PortholeError } from '../errors.ts';

/** A rejected archive. */
export class ArchiveError extends PortholeError {
  /** The reason, in a few words. */
  readonly why: string;

  constructor(why: string) {
    super(
      'invalid_request',
      `The archive is refused: ${why}. Send a plain tar of what belongs below /workspace.`,
    );
    this.why = why;
  }
}

/** The error for a rejected archive. */
export function archiveError(why: string): ArchiveError {
  return new ArchiveError(why);
}
