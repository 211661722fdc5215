/**
 * Limits of what a caller may write at once, in bytes. Forms have none but the disk of the sandbox.
 */
export interface UploadLimits {
  /** Maximum size of a file that is the request body. */
  readonly file: number;
  /** Of an archive. `Infinity`: the disk of the sandbox limits it. */
  readonly archive: number;
}
