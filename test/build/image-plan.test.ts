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
    const page = readFileSync(join(ROOT, 'docs/images.md'), 'utf8');
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
  test('name an image without its tag', () => {
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

test('the workflow signs what it builds, and grants no more than that needs', () => {
  const workflow = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')) as {
    readonly permissions: object;
    readonly jobs: { release: { permissions: object; steps: { run?: string }[] } };
  };
  expect(workflow.permissions).toEqual({});
  expect(workflow.jobs.release.permissions).toEqual({
    contents: 'read',
    'id-token': 'write',
  });
  const commands = workflow.jobs.release.steps.map(({ run = '' }) => run).join('\n');
  const order = ['npm run check', 'npm run images --', 'cosign sign', 'cosign attest', 'npm publish'];
  const places = order.map((command) => commands.indexOf(command));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
});
