/** What `npm ci` of a fresh clone installs, with the settings of `.npmrc`. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Locked {
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly link?: boolean;
}

/** Folders of the packages, without those of other platforms. */
function installedByDefault(): string[] {
  const omits = (kind: string) => read('.npmrc').split('\n').includes(`omit[]=${kind}`);
  const [omitsDev, omitsPeers] = [omits('dev'), omits('peer')];
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
  return Object.entries(packages)
    .filter(([path, { link }]) => path.startsWith('node_modules/') && !link)
    .filter(([, { dev, peer }]) => !(omitsDev && dev) && !(omitsPeers && peer))
    .map(([path]) => path)
    .filter((path) => existsSync(join(ROOT, path)));
}

test('installs at most 480 packages', () => {
  expect(installedByDefault().length).toBeLessThanOrEqual(480);
});

test('installs at most 600 MB', () => {
  const top = installedByDefault().filter((path) => !path.includes('/node_modules/'));
  const printed = execFileSync('du', ['--summarize', '--total', '--block-size=1M', ...top], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(Number.parseInt(printed.trim().split('\n').at(-1) ?? '', 10)).toBeLessThan(600);
}, 120_000);
