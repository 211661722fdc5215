/**
 * `npm run code:install` installs the code interpreter for the sandboxes of this machine, which see
 * it as `/opt/code-interpreter`. It takes about 500 MB.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { codeInterpreterFolder } from '#adapters/local/code-interpreter-folder.ts';
import { CODE_COMMAND } from '#protocol/guest/code-protocol.ts';
import { ROOT } from './root.ts';

/** The interpreter that sandboxes see: of the machine, they see only `/usr`. */
const PYTHON = '/usr/bin/python3';
const SOURCE = join(ROOT, 'images/code-interpreter');
const PACKAGE = join(SOURCE, 'code_interpreter');
const REQUIREMENTS = join(SOURCE, 'requirements.txt');

function digest(): string {
  const hash = createHash('sha256').update(process.arch).update(readFileSync(REQUIREMENTS));
  for (const name of readdirSync(PACKAGE).filter((each) => each !== '__pycache__')) {
    hash.update(name).update(readFileSync(join(PACKAGE, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Scripts name the Python of the folder they were installed in, which sandboxes do not see. */
function moveScripts(bin: string): void {
  for (const name of readdirSync(bin)) {
    const path = join(bin, name);
    const bytes = readFileSync(path);
    if (!bytes.subarray(0, 2).equals(Buffer.from('#!'))) continue;
    writeFileSync(path, bytes.toString().replace(/^#!.*/, `#!${CODE_COMMAND[0]}`));
  }
}

function install(folder: string): void {
  const version = digest();
  const target = join(folder, version);
  const current = join(folder, 'current');
  if (existsSync(current) && existsSync(target)) return;
  const work = join(folder, 'installing');
  rmSync(work, { recursive: true, force: true });
  const run = (...args: readonly string[]) =>
    execFileSync(args[0] ?? '', args.slice(1), { stdio: 'inherit' });
  process.stdout.write(`Installing the code interpreter in ${folder}\n`);
  run(PYTHON, '-m', 'venv', '--without-pip', work);
  const python = join(work, 'bin/python3');
  run(
    'python3',
    '-m',
    'pip',
    '--python',
    python,
    'install',
    '--quiet',
    '--only-binary=:all:',
    '-r',
    REQUIREMENTS,
  );
  const [packages = ''] = execFileSync(python, ['-c', 'import site; print(site.getsitepackages()[0])'], {
    encoding: 'utf8',
  }).split('\n');
  cpSync(PACKAGE, join(packages, 'code_interpreter'), { recursive: true });
  moveScripts(join(work, 'bin'));
  renameSync(work, target);
  // Sandboxes that run keep seeing one of the two.
  const link = `${current}.new`;
  rmSync(link, { force: true });
  symlinkSync(version, link);
  renameSync(link, current);
  for (const name of readdirSync(folder)) {
    if (name !== version && name !== 'current') rmSync(join(folder, name), { recursive: true });
  }
}

const folder = codeInterpreterFolder(process.env);
if (folder === undefined) throw new Error('The cache folder cannot be made: set PORTHOLE_CACHE_DIR.');
install(folder);
