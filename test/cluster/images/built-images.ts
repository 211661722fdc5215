import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import type { Report } from '../fixture/build-program.ts';
import type { Cluster } from '../fixture/cluster.ts';
import { exclusive } from '../fixture/exclusive.ts';
import { cacheFolder } from '../fixture/program-cache.ts';
import { baseDigest, makeBase } from './base-image.ts';
import { type Docker, withDockerEngine } from './docker-engine.ts';
import { findProgram } from './find-program.ts';
import {
  BROWSER_RECIPES,
  CATALOGUE_RECIPES,
  IMAGE_RECIPES,
  type ImageRecipe,
  recipeDigest,
} from './image-recipe.ts';
import { npmSettings } from './npm-settings.ts';

/** References of our images, as pods name them. */
export type BuiltImages = Readonly<Record<keyof typeof IMAGE_RECIPES, string>>;

/** One image under the digest of all its inputs. */
export interface Build {
  readonly recipe: ImageRecipe;
  readonly reference: string;
  /** File in the cache, as `docker save` writes it. */
  readonly archive: string;
}

type Recipes = Readonly<Record<string, ImageRecipe>>;

/** Programs that a build needs, and the Debian package that contains each. */
const NEEDED = { 'docker.io': ['dockerd', 'docker'], debootstrap: ['debootstrap'] } as const;

/** Why our images are neither cached nor can be built, with the remedy. */
export function imagesMissing(recipes: Recipes = IMAGE_RECIPES): Missing {
  if (builds(recipes, baseDigest()).every(({ archive }) => existsSync(archive))) return undefined;
  if (process.geteuid?.() !== 0) return 'building images needs root: run it with sudo';
  const packages = Object.entries(NEEDED)
    .filter(([, programs]) => programs.some((program) => findProgram(program).length === 0))
    .map(([name]) => name);
  if (packages.length === 0) return undefined;
  return `what builds images is missing: apt-get install ${packages.join(' ')}`;
}

/**
 * Our images from their Dockerfiles, imported on the nodes of this cluster. Built if their inputs
 * have changed: two minutes the first time, half a minute for a change of the sources.
 */
export async function builtImages(cluster: Cluster, report: Report = say): Promise<BuiltImages> {
  return withBuilds(IMAGE_RECIPES, report, async (wanted) => {
    for (const { reference, archive } of wanted) {
      if (!(await cluster.hasImage(reference))) await cluster.importImage(archive);
    }
    return Object.fromEntries(
      Object.keys(IMAGE_RECIPES).map((key, at) => [key, wanted[at]?.reference]),
    ) as BuiltImages;
  });
}

/**
 * Passes these images to the action, built if their inputs have changed; their archives are not
 * removed meanwhile.
 */
export async function withBuilds<T>(
  recipes: Recipes,
  report: Report,
  use: (builds: readonly Build[]) => Promise<T>,
): Promise<T> {
  const folder = imagesFolder();
  return exclusive(folder, report, async () => {
    const base = baseDigest();
    const wanted = builds(recipes, base);
    const lacking = wanted.filter(({ archive }) => !existsSync(archive));
    if (lacking.length > 0) await build(lacking, base, report);
    const all = [IMAGE_RECIPES, BROWSER_RECIPES, CATALOGUE_RECIPES].flatMap((each) => builds(each, base));
    removeOthers(folder, [baseArchive(base), ...all.map(({ archive }) => archive)]);
    return use(wanted);
  });
}

function imagesFolder(): string {
  return join(cacheFolder(), 'images');
}

function baseArchive(base: string): string {
  return join(imagesFolder(), `base-${base}.tar`);
}

function builds(recipes: Recipes, base: string): Build[] {
  return Object.values(recipes).map((recipe) => {
    const digest = recipeDigest(recipe, base);
    return {
      recipe,
      reference: `porthole.test/built/${recipe.name}:${digest}`,
      archive: join(imagesFolder(), `${recipe.name}-${digest}.tar`),
    };
  });
}

async function build(lacking: readonly Build[], base: string, report: Report): Promise<void> {
  const archive = baseArchive(base);
  if (!existsSync(archive)) {
    report('making the base of the images (once, a minute)');
    await makeBase(archive);
  }
  const folder = mkdtempSync(join(tmpdir(), 'porthole-build-'));
  const npmrc = join(folder, 'npmrc');
  const engine = join(imagesFolder(), 'docker');
  let isDamaged = false;
  try {
    writeFileSync(npmrc, await npmSettings(), { mode: 0o600 });
    await withDockerEngine(engine, async (docker) => {
      const from = `porthole.test/built/base:${base}`;
      await importBase(docker, archive, from);
      for (const each of lacking) {
        const args = { BASE_IMAGE: from, ...(await guestArgument(docker, each.recipe, from, npmrc, report)) };
        report(`building the image ${each.recipe.name}`);
        await buildOne(docker, each, args, npmrc);
      }
      // All layers of all images, 6 GB: a change of the sources makes the last ones alone.
      await docker(['builder', 'prune', '--force', '--keep-storage=12g']).catch((error: unknown) => {
        // A record without its snapshot, for example: BuildKit counts nothing any more.
        report(`the cache of builds is damaged, and removed: ${(error as Error).message}`);
        isDamaged = true;
      });
    });
    if (isDamaged) rmSync(engine, { recursive: true });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function importBase(docker: Docker, archive: string, reference: string): Promise<void> {
  if ((await docker(['image', 'ls', '--quiet', reference])) !== '') return;
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  await docker(['import', `--change=ENV ${path}`, '--change=CMD ["node"]', archive, reference]);
}

/** Build arguments. */
type Arguments = Readonly<Record<string, string>>;

/** Builds the guest that the image uses, unless the engine has this exact one. */
async function guestArgument(
  docker: Docker,
  { guest }: ImageRecipe,
  base: string,
  npmrc: string,
  report: Report,
): Promise<Arguments> {
  if (guest === undefined) return {};
  const repository = `porthole.test/built/${guest.name}`;
  const reference = `${repository}:${recipeDigest(guest, base)}`;
  if ((await docker(['image', 'ls', '--quiet', reference])) === '') {
    const others = (await docker(['image', 'ls', '--quiet', repository])).split('\n').filter(Boolean);
    if (others.length > 0) await docker(['image', 'rm', '--force', ...others]);
    report('building the guest');
    await runBuild(docker, guest, reference, { BASE_IMAGE: base }, npmrc);
  }
  return { GUEST_IMAGE: reference };
}

async function buildOne(
  docker: Docker,
  { recipe, reference, archive }: Build,
  args: Arguments,
  npmrc: string,
): Promise<void> {
  await runBuild(docker, recipe, reference, args, npmrc);
  await docker(['save', `--output=${archive}.part`, reference]);
  await rename(`${archive}.part`, archive);
  // Its layers stay in the build's cache.
  await docker(['image', 'rm', reference]);
}

async function runBuild(
  docker: Docker,
  { dockerfile, context }: ImageRecipe,
  reference: string,
  args: Arguments,
  npmrc: string,
): Promise<void> {
  await docker([
    'build',
    `--file=${dockerfile}`,
    `--tag=${reference}`,
    // The engine has no bridge.
    '--network=host',
    ...Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`),
    ...PROXIES.filter((name) => process.env[name]).map((name) => `--build-arg=${name}=${process.env[name]}`),
    `--secret=id=npmrc,src=${npmrc}`,
    '--progress=plain',
    context,
  ]);
}

const PROXIES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

/** Removes archives of other sources: hundreds of megabytes each. */
function removeOthers(folder: string, kept: readonly string[]): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (name.includes('.tar') && !kept.includes(file)) rmSync(file, { recursive: true, force: true });
  }
}

/** Reports slow steps on the terminal. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
