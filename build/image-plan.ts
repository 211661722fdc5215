import { join } from 'node:path';

/** Our images, in the order of their builds: the sandboxes copy the guest. */
const IMAGES = {
  guest: { folder: 'guest', local: 'localhost/porthole/guest:1' },
  functions: { folder: 'function-host', local: 'porthole/functions:dev' },
  browsers: { folder: 'browsers', local: 'porthole/browsers:dev' },
  sandbox: { folder: 'sandbox', local: 'porthole/sandbox:dev' },
  python: { folder: 'python', local: 'localhost/porthole/python:1' },
  node: { folder: 'node', local: 'localhost/porthole/node:1' },
  multi: { folder: 'multi', local: 'localhost/porthole/multi:1' },
  'code-interpreter': { folder: 'code-interpreter', local: 'localhost/porthole/code-interpreter:1' },
} as const;

export type ImageName = keyof typeof IMAGES;

export const IMAGE_NAMES = Object.keys(IMAGES) as readonly ImageName[];

/** Built from the root of the project; the others from their own folder. */
const FROM_ROOT: readonly ImageName[] = ['guest', 'functions', 'browsers'];

export interface ImageOptions {
  /** @default every image */
  readonly names?: readonly ImageName[];
  /**
   * Registry and path in front of the names, e.g. `registry.example.com/porthole`.
   * @default - the local names that the documentation uses
   */
  readonly registry?: string | undefined;
  /** Version of the project, commit, and the commit's time in seconds since 1970. */
  readonly version: string;
  readonly revision: string;
  readonly committedAt: number;
  /**
   * Several need `push`: an engine stores one architecture of an image.
   * @default - the architecture of the engine
   */
  readonly platforms?: readonly string[];
  /** Whether to push the images, with their digests in `{folder}/{name}.json`. */
  readonly push?: boolean;
  /** Folder of the digests. */
  readonly folder: string;
}

export interface ImageBuild {
  readonly name: ImageName;
  /** First the tag that names the commit. */
  readonly tags: readonly string[];
  readonly argv: readonly string[];
  /** Where Buildx writes the digest of a pushed image. */
  readonly metadata: string | undefined;
}

/**
 * The builds of images, as commands. The same commit gives the same tags and labels, and files
 * have the time of the commit (`SOURCE_DATE_EPOCH`).
 * @throws TypeError for options that exclude each other
 */
export function imagePlan(options: ImageOptions): readonly ImageBuild[] {
  const { names = IMAGE_NAMES, registry, platforms = [], push = false } = options;
  if (push && registry === undefined) throw new TypeError('--push needs --registry: where to push to.');
  if (platforms.length > 1 && !push) {
    throw new TypeError(`--platform ${platforms.join(',')} needs --push: an engine stores one architecture.`);
  }
  return IMAGE_NAMES.filter((name) => names.includes(name)).map((name) => build(name, options));
}

function build(name: ImageName, options: ImageOptions): ImageBuild {
  const { version, revision, committedAt, platforms = [], push = false, folder } = options;
  const tags = tagsOf(name, options);
  const metadata = push ? join(folder, `${name}.json`) : undefined;
  const labels = {
    version,
    revision,
    created: new Date(committedAt * 1_000).toISOString(),
  };
  const image = IMAGES[name];
  return {
    name,
    tags,
    metadata,
    argv: [
      'docker',
      ...(push ? ['buildx', 'build', '--push'] : ['build']),
      ...(platforms.length === 0 ? [] : ['--platform', platforms.join(',')]),
      '--file',
      `images/${image.folder}/Dockerfile`,
      ...tags.flatMap((tag) => ['--tag', tag]),
      ...Object.entries(labels).flatMap(([key, value]) => [
        '--label',
        `org.opencontainers.image.${key}=${value}`,
      ]),
      '--build-arg',
      `SOURCE_DATE_EPOCH=${committedAt}`,
      ...(FROM_ROOT.includes(name) ? [] : ['--build-arg', `GUEST_IMAGE=${tagsOf('guest', options)[0]}`]),
      ...(metadata === undefined ? [] : ['--metadata-file', metadata]),
      FROM_ROOT.includes(name) ? '.' : `images/${image.folder}`,
    ],
  };
}

function tagsOf(name: ImageName, { registry, version, revision }: ImageOptions): readonly string[] {
  if (registry === undefined) return [IMAGES[name].local];
  const image = `${registry}/${name}`;
  return [`${image}:${version}-${revision.slice(0, 12)}`, `${image}:${version}`];
}

/** Names an image by digest, from what Buildx has written about it. */
export function digestReference({ tags }: Pick<ImageBuild, 'tags'>, metadata: string): string {
  const digest = (JSON.parse(metadata) as Record<string, unknown>)['containerimage.digest'];
  if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw new Error('Buildx has written no digest: use Docker Buildx 0.10 or later.');
  }
  return `${(tags[0] ?? '').replace(/:[^:/]+$/, '')}@${digest}`;
}

/** Source of `infra/release-images.ts`: the images of a release, by digest. */
export function releaseImagesSource(references: Readonly<Partial<Record<ImageName, string>>>): string {
  return `/** The images of a release by digest, which \`npm run images\` writes; empty otherwise. */
export const RELEASE_IMAGES: Readonly<Record<string, string>> = ${JSON.stringify(references, null, 2)};
`;
}
