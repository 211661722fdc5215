import { existsSync, readFileSync } from 'node:fs';
import { command } from '../fixture/command.ts';
import { AUTHORITIES } from './base-image.ts';

/**
 * The machine's npm settings as one `.npmrc`, which a build gets as a secret: they include
 * registries and their credentials.
 */
export async function npmSettings(): Promise<string> {
  const [registry, ...places] = await Promise.all(
    ['registry', 'globalconfig', 'userconfig'].map(async (name) =>
      (await command(['npm', 'config', 'get', name])).trim(),
    ),
  );
  const written = places.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
  const authorities = existsSync(AUTHORITIES) ? [`cafile=${AUTHORITIES}`] : [];
  return [...written, `registry=${registry}`, ...authorities, ''].join('\n');
}
