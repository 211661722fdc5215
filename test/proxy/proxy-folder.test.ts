import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { expect, test } from '@jest/globals';
import { ERROR_CATALOGUE } from '#base/errors.ts';
import { REFUSALS } from '#proxy/front/hostile-head.ts';

const FOLDER = resolve(import.meta.dirname, '../../proxy');
const IMPORT = /(?:^|\n)(?:import|export)\b[^;]*?from '([^']+)'|import\('([^']+)'\)/g;

test('imports Node’s own modules and files of its folder alone, so that the guest can bundle it', () => {
  const foreign: string[] = [];
  for (const name of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const file = join(FOLDER, name);
    for (const [, from, lazy] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const specifier = (from ?? lazy) as string;
      const isInside =
        specifier.startsWith('.') && resolve(dirname(file), specifier).startsWith(FOLDER + sep);
      if (!isInside && !specifier.startsWith('node:')) foreign.push(`${name}: ${specifier}`);
    }
  }
  expect(foreign).toEqual([]);
});

test('refuses with the codes and the statuses of the API', () => {
  expect(ERROR_CATALOGUE).toMatchObject(REFUSALS);
});
