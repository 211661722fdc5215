/**
 * `node build/dev-packages.ts`: installs the packages that tests, checks and builds need, and that
 * `npm ci` leaves out (`omit` in `.npmrc`). The scripts of `package.json` that use them begin
 * with it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

interface Manifest {
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Names of the development packages that are not installed. Pulumi is a peer of the last three. */
export function missingPackages(root = ROOT): string[] {
  const read = (folder: string) =>
    JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
  const peers = ['infra', 'policies', 'examples/lambda'].map((folder) => read(folder).peerDependencies);
  return Object.keys(Object.assign({}, read('.').devDependencies, ...peers)).filter(
    (name) => !existsSync(join(root, 'node_modules', name, 'package.json')),
  );
}

/** After an interruption npm starts from nothing: a package may be incomplete. */
export function npmArguments(wasInterrupted: boolean): string[] {
  const command = wasInterrupted ? ['ci'] : ['install', '--no-save'];
  return [...command, '--include=dev', '--include=peer', '--ignore-scripts', '--no-audit', '--no-fund'];
}

/**
 * Does nothing where all are there. Writes to stderr alone: the output of some scripts is a file.
 * @throws Error if npm fails
 */
export function installDevPackages(root = ROOT): void {
  const unfinished = join(root, 'dist/.dev-packages');
  const wasInterrupted = existsSync(unfinished);
  if (!wasInterrupted && missingPackages(root).length === 0) return;
  process.stderr.write('Installing the packages for development, once: one or two minutes …\n');
  mkdirSync(dirname(unfinished), { recursive: true });
  writeFileSync(unfinished, '');
  const { status, error } = spawnSync('npm', npmArguments(wasInterrupted), {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm failed (${status ?? 'killed'}); the next start tries again`);
  rmSync(unfinished);
}

if (import.meta.main) {
  try {
    installDevPackages();
  } catch (error) {
    process.stderr.write(`The packages for development are not installed: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
