/** What a sandbox of an image gets where its request says nothing. */
export interface ImageResources {
  /** Cores. */
  readonly cpu?: number | undefined;
  /** MiB. */
  readonly memoryMb?: number | undefined;
  /** MiB. */
  readonly diskMb?: number | undefined;
}

/** One of the images that sandboxes may be made from. */
export interface CatalogueImage {
  /** What callers ask for: `[a-z0-9]([a-z0-9._-]*[a-z0-9])?`, at most 63 characters. */
  readonly name: string;
  /** What the provider is told: where the image lies, or whatever else it knows the image by. */
  readonly reference: string;
  readonly description: string;
  readonly languages: readonly string[];
  readonly resources: ImageResources;
}

/** Those of the images that admins have added. */
export interface ImageRecords {
  /** Adds it, or replaces the one of that name; says whether it is new. */
  put(image: CatalogueImage, at: Date): Promise<boolean>;
  get(name: string): Promise<CatalogueImage | undefined>;
  /** By name, at most 1000. */
  list(): Promise<readonly CatalogueImage[]>;
  /** Whether there was one. */
  delete(name: string): Promise<boolean>;
}
