import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** One of our images: its Dockerfile, and the build context. */
export interface ImageRecipe {
  readonly name: string;
  readonly dockerfile: string;
  readonly context: string;
  /** The image from which it copies the guest, named by the build argument `GUEST_IMAGE`. */
  readonly guest?: ImageRecipe;
}

export const GUEST_RECIPE: ImageRecipe = {
  name: 'guest',
  dockerfile: join(ROOT, 'images/guest/Dockerfile'),
  context: ROOT,
};

export const IMAGE_RECIPES = {
  functionHost: {
    name: 'function-host',
    dockerfile: join(ROOT, 'images/function-host/Dockerfile'),
    context: ROOT,
  },
  sandbox: {
    name: 'sandbox',
    dockerfile: join(ROOT, 'images/sandbox/Dockerfile'),
    context: join(ROOT, 'images/sandbox'),
    guest: GUEST_RECIPE,
  },
} as const satisfies Record<string, ImageRecipe>;

/** The browsers, apart from the others: Chromium and its fonts are 1 GB. */
export const BROWSER_RECIPES = {
  browsers: { name: 'browsers', dockerfile: join(ROOT, 'images/browsers/Dockerfile'), context: ROOT },
} as const satisfies Record<string, ImageRecipe>;

/** The recipes of the shipped catalogue, by their names in it. */
export const CATALOGUE_RECIPES = {
  python: catalogued('python'),
  node: catalogued('node'),
  multi: catalogued('multi'),
  'code-interpreter': catalogued('code-interpreter'),
} as const satisfies Record<string, ImageRecipe>;

function catalogued(name: string): ImageRecipe {
  const context = join(ROOT, 'images', name);
  return { name, dockerfile: join(context, 'Dockerfile'), context, guest: GUEST_RECIPE };
}

/**
 * Changes with the Dockerfile, with any file of the build context, with the guest and with the
 * base. 16 hex digits.
 */
export function recipeDigest({ dockerfile, context, guest }: ImageRecipe, base: string): string {
  const digest = createHash('sha256').update(JSON.stringify([base, process.arch]));
  if (guest !== undefined) digest.update(recipeDigest(guest, base));
  const ignore = `${dockerfile}.dockerignore`;
  const { allowed, excluded } = patterns(ignore);
  const isExcluded = (file: string) =>
    excluded.some((pattern) =>
      pattern.startsWith('**/')
        ? file.split('/').includes(pattern.slice('**/'.length))
        : file === pattern || file.startsWith(`${pattern}/`),
    );
  const sources = allowed
    .flatMap((path) => files(join(context, path)))
    .filter((file) => !isExcluded(relative(context, file)));
  for (const file of [dockerfile, ignore, ...sources]) {
    const text = readFileSync(file).toString('base64');
    digest.update(JSON.stringify([relative(context, file), statSync(file).mode & 0o111, text]));
  }
  return digest.digest('hex').slice(0, 16);
}

/**
 * Our ignore files exclude everything, then allow some paths, then exclude files of these again: a
 * path, or a name at any depth.
 */
function patterns(ignoreFile: string): { readonly allowed: string[]; readonly excluded: string[] } {
  const lines = readFileSync(ignoreFile, 'utf8').split('\n');
  return {
    allowed: lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1)),
    excluded: lines.filter((line) => line !== '' && line !== '*' && !/^[!#]/.test(line)),
  };
}

function files(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => files(join(path, name)));
}
