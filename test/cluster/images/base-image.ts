import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { cp, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { command } from '../fixture/command.ts';
import { confined } from './confined.ts';
import { findProgram } from './find-program.ts';

/**
 * The certificate authorities that a build trusts; the same path inside the base as on this
 * machine.
 */
export const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

const RELEASE = 'bookworm';

/** Without it, as in Debian's slim images, each package is smaller. */
const DOCUMENTATION = ['/usr/share/doc', '/usr/share/locale', '/usr/share/man'];

/**
 * Replaces the base images of the Dockerfiles, which come from an image registry: Debian's
 * smallest, the Node that runs the tests, the machine's npm, and a user 1000 called `node`. 16 hex
 * digits that change with all of it except the Debian packages.
 */
export function baseDigest(): string {
  const digest = createHash('sha256');
  for (const file of [import.meta.filename, AUTHORITIES, join(npmFolder(), 'package.json')]) {
    digest.update(existsSync(file) ? readFileSync(file) : '-');
  }
  return digest.update(process.version).digest('hex').slice(0, 16);
}

/** Writes the root file system of the base into that archive. */
export async function makeBase(archive: string): Promise<void> {
  const work = `${archive}.making`;
  const root = join(work, 'root');
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  try {
    const options = ['--variant=minbase', '--include=ca-certificates'];
    await command(confined(['debootstrap', ...options, RELEASE, root, ...(await mirror())]));
    if (existsSync(AUTHORITIES)) copyFileSync(AUTHORITIES, join(root, AUTHORITIES));
    copyFileSync(process.execPath, join(root, 'usr/local/bin/node'));
    await cp(npmFolder(), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
    await command(['chroot', root, 'useradd', '--uid=1000', '--user-group', '--create-home', 'node']);
    const unused = DOCUMENTATION.map((folder) => `${folder}/*`);
    const excludes = unused.map((path) => `path-exclude=${path}\n`).join('');
    writeFileSync(join(root, 'etc/dpkg/dpkg.cfg.d/docker'), excludes);
    const clean = `apt-get clean && rm -rf /var/lib/apt/lists/* ${unused.join(' ')}`;
    await command(['chroot', root, 'sh', '-c', clean]);
    const whole = join(work, 'base.tar');
    await command(['tar', '--create', `--file=${whole}`, `--directory=${root}`, '--numeric-owner', '.']);
    await rename(whole, archive);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** This machine's Debian mirror; empty unless this is a Debian of that release. */
async function mirror(): Promise<string[]> {
  const which = ['--format', '$(REPO_URI)', 'Created-By: Packages', `Codename: ${RELEASE}`];
  const listed = await command(['apt-get', 'indextargets', ...which, 'Component: main']).catch(() => '');
  return listed.split('\n').filter(Boolean).slice(0, 1);
}

function npmFolder(): string {
  const [npm] = findProgram('npm');
  if (npm === undefined) throw new Error('npm is missing, which came with Node');
  return dirname(dirname(realpathSync(npm)));
}
