import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { writeBuiltGuest } from '#adapters/guest/guest-bundle.ts';
import {
  BROWSER_RECIPES,
  GUEST_RECIPE,
  IMAGE_RECIPES,
  recipeDigest,
} from '../cluster/images/image-recipe.ts';

const context = mkdtempSync(join(tmpdir(), 'porthole-recipe-'));
const recipe = { name: 'box', dockerfile: join(context, 'Dockerfile'), context };

const write = (file: string, text: string) => writeFileSync(join(context, file), text);

beforeEach(() => {
  mkdirSync(join(context, 'host'), { recursive: true });
  write('Dockerfile', 'FROM base\n');
  write('Dockerfile.dockerignore', '*\n!host\n**/dist\nhost/made.ts\n');
  write('host/main.ts', 'run();\n');
  write('README.md', 'A box\n');
  chmodSync(join(context, 'host/main.ts'), 0o644);
});
afterAll(() => rmSync(context, { recursive: true }));

describe('image rebuild', () => {
  test.each([
    ['another Dockerfile', () => write('Dockerfile', 'FROM base\nUSER 1\n')],
    ['other files let in', () => write('Dockerfile.dockerignore', '*\n!host\n!README.md\n')],
    ['another file', () => write('host/main.ts', 'walk();\n')],
    ['one file more', () => write('host/more.ts', '')],
    ['another mode', () => chmodSync(join(context, 'host/main.ts'), 0o755)],
  ])('rebuilds after %s', (_what, change) => {
    rmSync(join(context, 'host/more.ts'), { force: true });
    const before = recipeDigest(recipe, 'base-1');
    change();
    expect(recipeDigest(recipe, 'base-1')).not.toBe(before);
  });

  test('rebuilds on another base image', () => {
    expect(recipeDigest(recipe, 'base-2')).not.toBe(recipeDigest(recipe, 'base-1'));
  });

  test('keeps the image after a change to a file that the build does not read', () => {
    const before = recipeDigest(recipe, 'base-1');
    write('README.md', 'Another box\n');
    write('host/made.ts', 'made();\n');
    mkdirSync(join(context, 'host/parts/dist'), { recursive: true });
    write('host/parts/dist/part.js', 'part();\n');
    expect(recipeDigest(recipe, 'base-1')).toBe(before);
  });

  test.each([GUEST_RECIPE, IMAGE_RECIPES.functionHost, BROWSER_RECIPES.browsers])(
    'keeps the image $name when packages are packed meanwhile',
    ({ dockerfile }) => {
      expect(readFileSync(`${dockerfile}.dockerignore`, 'utf8').split('\n')).toContain('**/dist');
    },
  );

  test('lets every source of the guest into the build of its image', async () => {
    const inputs = JSON.parse(readFileSync(join(await writeBuiltGuest(), 'inputs.json'), 'utf8')) as string[];
    const allowed = readFileSync(`${GUEST_RECIPE.dockerfile}.dockerignore`, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    expect(inputs.length).toBeGreaterThan(50);
    expect(
      inputs.filter((file) => !allowed.some((path) => file === path || file.startsWith(`${path}/`))),
    ).toEqual([]);
  });
});
