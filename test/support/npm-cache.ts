/** npm packages of exact versions in a cache outside the repository. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { npm } from '#test/frameworks/framework-cache.ts';
import type { Missing } from './suite.ts';

/** Peers are packages that the others import; the repository's own settings leave them out. */
const INSTALL = ['install', '--ignore-scripts', '--include=peer'];

export class NpmCache {
  /** The folder `node_modules`. */
  readonly modules: string;
  readonly #name: string;
  readonly #packages: Readonly<Record<string, string>>;
  readonly #folder: string;

  constructor(name: string, packages: Readonly<Record<string, string>>) {
    const wanted = JSON.stringify([process.platform, process.arch, packages, INSTALL]);
    const digest = createHash('sha256').update(wanted).digest('hex').slice(0, 16);
    this.#name = name;
    this.#packages = packages;
    this.#folder = join(cacheFolder(), `${name}-${digest}`);
    this.modules = join(this.#folder, 'node_modules');
  }

  get missing(): Missing {
    return existsSync(this.#folder)
      ? undefined
      : `The packages are not in the cache: npm run ${this.#name}:install`;
  }

  /** Does nothing where they are. Earlier versions are removed: some have nearly a gigabyte. */
  async install(): Promise<void> {
    if (this.missing === undefined) return;
    const work = join(cacheFolder(), `installing-${this.#name}`);
    await rm(work, { recursive: true, force: true });
    await mkdir(work, { recursive: true });
    const manifest = { name: this.#name, private: true, dependencies: this.#packages };
    await writeFile(join(work, 'package.json'), JSON.stringify(manifest));
    await npm(INSTALL, work);
    for (const name of await readdir(cacheFolder())) {
      if (name.startsWith(`${this.#name}-`)) await rm(join(cacheFolder(), name), { recursive: true });
    }
    await rename(work, this.#folder);
  }
}
