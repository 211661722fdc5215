export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A bucket as it is to appear in a sandbox: judged, and complete. */
export interface BucketMount {
  /** Absolute and normal, e.g. `/mnt/data`. */
  readonly mountPath: string;
  readonly bucket: string;
  /** Origin of the S3 server. */
  readonly endpoint: string;
  readonly region?: string | undefined;
  /** What of the bucket is shown: `/`, or a folder that starts and does not end with a slash. */
  readonly prefix: string;
  readonly readOnly: boolean;
  readonly credentials: BucketCredentials;
  /** Options of s3fs, `name` or `name=value`, each one known to be harmless. */
  readonly s3fsOptions: readonly string[];
}

/**
 * Shows buckets in running sandboxes, from outside: no capability and no credential is inside. A mount ends with its sandbox, by `stop`, `destroy` or the
 * end of the host, and is not brought back by `resume`: credentials are kept nowhere.
 */
export interface BucketMounter {
  /**
   * Resolves once files of the bucket can be read and written at the path; on failure nothing is left behind.
   * @throws PortholeError `mount_error` (`mount failed: …`, naming what is missing where it cannot be done), `sandbox_not_running`
   */
  mount(sandboxId: string, mount: BucketMount, signal?: AbortSignal): Promise<void>;

  /** @throws PortholeError `unmount_error` where nothing is mounted at the path */
  unmount(sandboxId: string, mountPath: string, signal?: AbortSignal): Promise<void>;
}
