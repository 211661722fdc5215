/** Default resources of a sandbox of an image. */
export interface ImageResources {
  /** Cores. */
  readonly cpu?: number | undefined;
  /** MiB. */
  readonly memoryMb?: number | undefined;
  /** MiB. */
  readonly diskMb?: number | undefined;
}

/** An image that sandboxes can be created from. */
export interface CatalogueImage {
  /** The name in requests: `[a-z0-9]([a-z0-9._-]*[a-z0-9])?`, at most 63 characters. */
  readonly name: string;
  /** The provider's reference: a registry reference, or any other id of the provider. */
  readonly reference: string;
  readonly description: string;
  readonly languages: readonly string[];
  readonly resources: ImageResources;
}

/** Images that admins have added. */
export interface ImageRecords {
  /** Adds an image, or replaces the one of that name; returns whether it is new. */
  put(image: CatalogueImage, at: Date): Promise<boolean>;
  get(name: string): Promise<CatalogueImage | undefined>;
  /** By name, at most 1000. */
  list(): Promise<readonly CatalogueImage[]>;
  /** Returns whether it existed. */
  delete(name: string): Promise<boolean>;
}
