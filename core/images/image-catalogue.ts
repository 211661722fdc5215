import { PortholeError } from '#base/errors.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { CatalogueImage } from './image-store.ts';

/**
 * The default catalogue: each image has its Dockerfile in `images/`. References of `localhost` are
 * never pulled from a registry, so no foreign image can replace one that was not built.
 */
export const SHIPPED_IMAGES: readonly CatalogueImage[] = [
  {
    name: 'code-interpreter',
    reference: 'localhost/porthole/code-interpreter:1',
    description: 'Code in contexts: Python with numpy, pandas and matplotlib, JavaScript, bash',
    languages: ['python', 'javascript', 'typescript'],
    resources: {},
  },
  {
    name: 'multi',
    reference: 'localhost/porthole/multi:1',
    description: 'Python, Node, Go, Ruby, C and C++',
    languages: ['python', 'javascript', 'typescript', 'go', 'ruby', 'c', 'c++'],
    resources: {},
  },
  {
    name: 'node',
    reference: 'localhost/porthole/node:1',
    description: 'Node with npm',
    languages: ['javascript', 'typescript'],
    resources: {},
  },
  {
    name: 'python',
    reference: 'localhost/porthole/python:1',
    description: 'Python with pip and venv',
    languages: ['python'],
    resources: {},
  },
];

export interface CatalogueDeps {
  readonly records: Pick<Records, 'images'>;
  /**
   * Images of the configuration: read-only, and take precedence over added ones of the same name.
   */
  readonly images: readonly CatalogueImage[];
  readonly sandboxes: Pick<Sandboxes, 'runsImage'>;
}

/** An image of the catalogue, and where it is defined. */
export interface ListedImage extends CatalogueImage {
  readonly source: 'configuration' | 'api';
}

/** Maximum image names in an error. */
const MAX_REPORTED = 20;

/** The images of the catalogue that the provider can run, by name. */
export async function listImages(deps: CatalogueDeps): Promise<readonly ListedImage[]> {
  const { records, images, sandboxes } = deps;
  const configured = new Set(images.map(({ name }) => name));
  const added = (await records.images.list()).filter(({ name }) => !configured.has(name));
  const all: ListedImage[] = [
    ...images.map((image) => ({ ...image, source: 'configuration' as const })),
    ...added.map((image) => ({ ...image, source: 'api' as const })),
  ];
  const runs = await Promise.all(all.map(({ reference }) => sandboxes.runsImage(reference)));
  return all.filter((_, at) => runs[at] === true).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws PortholeError `image_not_supported` for what is not in the catalogue */
export async function findImage(deps: CatalogueDeps, name: string): Promise<CatalogueImage> {
  const image = configuredImage(deps, name) ?? (await deps.records.images.get(name));
  if (image !== undefined) return image;
  const names = (await listImages(deps)).map((each) => each.name);
  const more = names.length > MAX_REPORTED ? ` and ${names.length - MAX_REPORTED} more` : '';
  const known = names.length === 0 ? 'no images' : names.slice(0, MAX_REPORTED).join(', ') + more;
  throw new PortholeError(
    'image_not_supported',
    `Image ${JSON.stringify(name.slice(0, 100))} is not in the catalogue, which offers ${known} here.`,
    {
      remedy: `${names.length === 0 ? 'Leave' : 'Choose one of them, leave'} image out for the default, or ask an admin to add it with POST /api/images.`,
    },
  );
}

/**
 * Adds an image, or replaces the added one of its name; returns whether it is new. Existing
 * sandboxes keep their image.
 * @throws PortholeError `image_configured`
 */
export async function putImage(
  deps: CatalogueDeps & { readonly clock: Clock },
  image: CatalogueImage,
): Promise<boolean> {
  refuseConfigured(deps, image.name);
  return deps.records.images.put(image, deps.clock.now());
}

/** @throws PortholeError `image_configured`, `image_not_found` */
export async function deleteImage(deps: CatalogueDeps, name: string): Promise<void> {
  refuseConfigured(deps, name);
  if (await deps.records.images.delete(name)) return;
  throw new PortholeError('image_not_found', `There is no image ${JSON.stringify(name)}`, {
    remedy: 'GET /api/images lists them.',
  });
}

function configuredImage({ images }: CatalogueDeps, name: string): CatalogueImage | undefined {
  return images.find((image) => image.name === name);
}

function refuseConfigured(deps: CatalogueDeps, name: string): void {
  if (configuredImage(deps, name) === undefined) return;
  throw new PortholeError(
    'image_configured',
    `Image ${JSON.stringify(name)} belongs to the configuration of this installation`,
    { remedy: 'change PORTHOLE_IMAGES, or choose another name.' },
  );
}
