/** A file on its way to a folder. */
export interface Incoming {
  /** Relative to the folder, with those that it lies in. */
  readonly path: string;
  readonly file: File;
}
