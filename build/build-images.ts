/**
 * `npm run images -- [names] [--registry R] [--platform P] [--push] [--print]` builds our images
 * with Docker. With `--push` it also writes their digests, for `cosign` and for the stack, and the
 * SBOM of the function host.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './root.ts';
import {
  digestReference,
  IMAGE_NAMES,
  type ImageBuild,
  type ImageName,
  imagePlan,
  releaseImagesSource,
} from './image-plan.ts';

const FOLDER = join(ROOT, 'dist/images');

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      registry: { type: 'string' },
      platform: { type: 'string', default: '' },
      push: { type: 'boolean', default: false },
      print: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => !IMAGE_NAMES.includes(name as ImageName));
  if (unknown.length > 0) {
    throw new TypeError(
      `There is no image ${unknown.join(', ')}: name ${IMAGE_NAMES.join(', ')}, or none for all.`,
    );
  }
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const builds = imagePlan({
    ...(positionals.length > 0 && { names: positionals as ImageName[] }),
    registry: values.registry,
    version,
    revision: git('rev-parse', 'HEAD'),
    committedAt: Number(git('log', '-1', '--format=%ct')),
    platforms: values.platform.split(',').filter((platform) => platform !== ''),
    push: values.push,
    folder: FOLDER,
  });
  return { builds, print: values.print, push: values.push };
}

function build(builds: readonly ImageBuild[], push: boolean): void {
  mkdirSync(FOLDER, { recursive: true });
  const references: Partial<Record<ImageName, string>> = {};
  for (const each of builds) {
    const [program = '', ...args] = each.argv;
    execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
    if (each.metadata !== undefined) {
      references[each.name] = digestReference(each, readFileSync(each.metadata, 'utf8'));
    }
  }
  const sbom = execFileSync(
    'npm',
    ['sbom', '--package-lock-only', '--sbom-format', 'spdx', '--omit', 'dev', '--omit', 'optional'],
    { cwd: ROOT, maxBuffer: 64 * 1_024 * 1_024 },
  );
  writeFileSync(join(FOLDER, 'functions.spdx.json'), sbom);
  if (!push) return;
  writeFileSync(join(FOLDER, 'digests.txt'), `${Object.values(references).join('\n')}\n`);
  writeFileSync(join(ROOT, 'infra/release-images.ts'), releaseImagesSource(references));
}

// EPIPE: a reader that stops early, such as `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
try {
  const { builds, print, push } = readArguments();
  if (print) for (const { argv } of builds) process.stdout.write(`${argv.join(' ')}\n`);
  else build(builds, push);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
