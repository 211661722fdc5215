import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import {
  digestReference,
  IMAGE_NAMES,
  type ImageOptions,
  imagePlan,
  releaseImagesSource,
} from '../../build/image-plan.ts';
import { PACKAGES } from '../../build/build-packages.ts';
import { ofRelease } from '../../infra/stack-config-schema.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMMIT: ImageOptions = {
  version: '1.2.3',
  revision: '0123456789abcdef0123456789abcdef01234567',
  committedAt: 1_700_000_000,
  folder: '/out',
};
const REGISTRY = 'registry.example.com:5000/porthole';
const RELEASE: ImageOptions = {
  ...COMMIT,
  registry: REGISTRY,
  platforms: ['linux/amd64', 'linux/arm64'],
  push: true,
};
const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('the builds of images', () => {
  test('give the images of a machine their local names, the guest first', () => {
    const plan = imagePlan(COMMIT);
    expect(plan.map(({ name }) => name)).toEqual(IMAGE_NAMES);
    expect(plan[0]?.name).toBe('guest');
    const page = readFileSync(join(ROOT, 'docs/guides/images.md'), 'utf8');
    for (const { tags, argv } of plan) {
      expect(argv.slice(0, 2)).toEqual(['docker', 'build']);
      expect(page).toContain(`--tag ${tags[0]}`);
    }
  });

  test('push every architecture of a release, with the commit in the tag', () => {
    const [sandbox] = imagePlan({ ...RELEASE, names: ['sandbox'] });
    expect(sandbox?.argv.join(' ')).toBe(
      [
        'docker buildx build --push --platform linux/amd64,linux/arm64',
        '--file images/sandbox/Dockerfile',
        `--tag ${REGISTRY}/sandbox:1.2.3-0123456789ab --tag ${REGISTRY}/sandbox:1.2.3`,
        '--label org.opencontainers.image.version=1.2.3',
        `--label org.opencontainers.image.revision=${COMMIT.revision}`,
        '--label org.opencontainers.image.created=2023-11-14T22:13:20.000Z',
        '--build-arg SOURCE_DATE_EPOCH=1700000000',
        `--build-arg GUEST_IMAGE=${REGISTRY}/guest:1.2.3-0123456789ab`,
        '--metadata-file /out/sandbox.json images/sandbox',
      ].join(' '),
    );
  });

  test('are the same for the same commit', () => {
    expect(imagePlan(RELEASE)).toEqual(imagePlan(RELEASE));
  });

  test.each<[string, Partial<ImageOptions>, string]>([
    ['a push to nowhere', { registry: undefined }, '--push needs --registry'],
    ['two architectures in one engine', { push: false }, 'needs --push'],
  ])('refuse %s', (_, more, problem) => {
    expect(() => imagePlan({ ...RELEASE, ...more })).toThrow(problem);
  });

  test('build from Dockerfiles that exist', () => {
    for (const { argv } of imagePlan(COMMIT)) {
      const file = argv[argv.indexOf('--file') + 1] ?? '';
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain('ARG BASE_IMAGE=');
    }
  });

  test('are printed without being run', () => {
    const program = [join(ROOT, 'build/build-images.ts'), '--print', 'guest'];
    const printed = execFileSync(process.execPath, program, { encoding: 'utf8' });
    expect(printed).toMatch(
      /^docker build --file images\/guest\/Dockerfile .*org\.opencontainers\.image\.revision=[0-9a-f]{40} .* \.\n$/,
    );
  });
});

describe('the digests of a release', () => {
  test('identify an image without its tag', () => {
    const tags = [`${REGISTRY}/guest:1.2.3-0123456789ab`];
    const metadata = JSON.stringify({ 'containerimage.digest': DIGEST });
    expect(digestReference({ tags }, metadata)).toBe(`${REGISTRY}/guest@${DIGEST}`);
    expect(() => digestReference({ tags }, '{}')).toThrow('no digest');
  });

  test('are the default of the stack', () => {
    expect(ofRelease(`a@${DIGEST}`).safeParse(undefined).data).toBe(`a@${DIGEST}`);
    expect(ofRelease(`a@${DIGEST}`).safeParse('mine').data).toBe('mine');
    expect(ofRelease(undefined).safeParse(undefined).success).toBe(false);
  });

  test('are the source of a module', () => {
    expect(releaseImagesSource({ functions: `a@${DIGEST}` })).toContain(
      `RELEASE_IMAGES: Readonly<Record<string, string>> = {\n  "functions": "a@${DIGEST}"\n};`,
    );
    expect(releaseImagesSource({})).toBe(readFileSync(join(ROOT, 'infra/release-images.ts'), 'utf8'));
  });
});

interface Job {
  readonly permissions: object;
  readonly needs?: string;
  readonly steps: readonly { readonly run?: string; readonly uses?: string; readonly with?: object }[];
}

describe('the workflow of a release', () => {
  const { permissions, jobs } = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')) as {
    readonly permissions: object;
    readonly jobs: Readonly<Record<'images' | 'packages' | 'wheel' | 'python', Job>>;
  };
  const commandsOf = ({ steps }: Job) => steps.map(({ run = '' }) => run).join('\n');

  test('signs what it builds before it publishes packages that name it', () => {
    const commands = commandsOf(jobs.images);
    const order = ['git merge-base', 'npm run check', 'npm run images --', 'cosign sign', 'cosign attest'];
    const places = order.map((command) => commands.indexOf(command));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(jobs.packages.needs).toBe('images');
    expect(commandsOf(jobs.packages)).toContain('npm publish');
    expect(commands).not.toContain('npm publish');
    for (const folder of PACKAGES) {
      expect(commandsOf(jobs.packages)).toMatch(new RegExp(`for folder in .*\\b${folder}\\b`));
    }
  });

  test('grants no more than that needs', () => {
    expect(permissions).toEqual({});
    const { wheel, ...others } = jobs;
    for (const job of Object.values(others)) {
      expect(job.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    }
    expect(wheel.permissions).toEqual({ contents: 'read' });
  });

  test('publishes to PyPI what a job without an identity has built, after the images', () => {
    const { wheel, python } = jobs;
    expect([wheel.needs, python.needs]).toEqual(['images', 'wheel']);
    expect(commandsOf(wheel)).toContain('-m build --outdir dist/python python');
    const publish = python.steps.at(-1);
    expect(publish?.uses).toMatch(/^pypa\/gh-action-pypi-publish@/);
    // A password would replace the trusted publisher.
    expect(publish?.with).toEqual({ 'packages-dir': 'dist/python', 'skip-existing': true });
    expect(commandsOf(python)).toBe('\n');
    expect(readFileSync(join(ROOT, 'python/requirements-test.txt'), 'utf8')).toMatch(/^build==[\d.]+$/m);
  });

  test('pins every action by its commit', () => {
    const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
    expect(used.length).toBeGreaterThan(8);
    expect(used.filter((each) => !/@[0-9a-f]{40}$/.test(each))).toEqual([]);
  });

  test('finds the version where its first step looks', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    for (const folder of PACKAGES) {
      const found: unknown = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
      expect(found).toMatchObject({ version });
    }
    for (const file of ['client/version.ts', 'handlers/route.ts'])
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`VERSION = '${version}'`);
    expect(readFileSync(join(ROOT, 'python/pyproject.toml'), 'utf8')).toContain(`\nversion = "${version}"\n`);
    expect(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')).toContain(`\n## ${version} - `);
  });
});
