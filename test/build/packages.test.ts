import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { recordProgram } from '../pulumi/record-program.ts';
import { SIGNING_KEYS, SERVICE_KEY, DATABASE_URL, stackFile } from '../infra/support/stack-files.ts';
import { copyProgram, installPacked } from '../support/packed-packages.ts';
import { startPolicyPack } from '../policies/engine/policy-pack.ts';

const ROOT = join(import.meta.dirname, '../..');
const PATIENT = 180_000;
const run = promisify(execFile);
let place: string;

beforeAll(async () => {
  place = await installPacked(['constructs', 'guest', 'infra', 'policies']);
}, PATIENT);
// The guest may end after it.
afterAll(() => rm(place, { recursive: true, maxRetries: 10 }));

/** A program of the examples, as outside the repository. */
const example = (file: string, name: string): Promise<string> =>
  copyProgram(join(ROOT, 'examples', file), { place, target: file, name });

const NODENEXT = '--ignoreConfig --noEmit --strict --module nodenext --target es2023 --types node';
/** As in the template of `pulumi new kubernetes-typescript`, which has TypeScript 5. */
const TEMPLATE =
  '--noEmit --strict --module commonjs --moduleResolution node --target es2020 --types node --skipLibCheck';

const typeErrors = (...files: string[]) => compilerErrors('native-typescript', NODENEXT, files);

async function compilerErrors(
  compiler: 'native-typescript' | 'typescript',
  options: string,
  files: readonly string[],
): Promise<string> {
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc');
  const roots = ['--typeRoots', join(ROOT, 'node_modules/@types')];
  return run(process.execPath, [tsc, ...options.split(' '), ...roots, ...files], { cwd: place }).then(
    () => '',
    (error: { readonly stdout: string }) => error.stdout,
  );
}

test(
  'runs the program of a platform team from the packed package',
  async () => {
    const main = await example('pulumi/main.ts', '@porthole/pulumi');
    const result = await recordProgram({
      project: 'platform',
      stack: 'test',
      main,
      stackFile: {
        config: {},
        secrets: { 'platform:signingKeys': SIGNING_KEYS, 'platform:serviceKey': SERVICE_KEY },
      },
      dryRun: false,
      read: (type) =>
        type === 'pulumi:pulumi:StackReference'
          ? {
              name: 'acme/platform/prod',
              outputs: { databaseUrl: DATABASE_URL, sandboxImage: 'sandbox:1' },
            }
          : { status: { addresses: [{ value: '203.0.113.7' }] } },
    });
    expect([result.succeeded, result.output]).toEqual([true, '']);
    expect(result.registrations.length).toBeGreaterThan(40);
    expect(result.outputs['apiUrl']).toBe('https://porthole.example.com');
  },
  PATIENT,
);

test(
  'renders the objects of a stack from the packed package',
  async () => {
    const { config, secrets } = stackFile({});
    await writeFile(join(place, 'Pulumi.prod.yaml'), stringify({ config: { ...config, ...secrets } }));
    const render = join(place, 'node_modules/@porthole/pulumi/dist/render/main.js');
    const { stdout } = await run(process.execPath, [render, '--stack', 'prod'], { cwd: place });
    const kinds = parseAllDocuments(stdout).map((each) => (each.toJSON() as { kind: string }).kind);
    expect(kinds.length).toBeGreaterThan(40);
    expect(kinds).toEqual(expect.arrayContaining(['Gateway', 'ValidatingAdmissionPolicy', 'Deployment']));
  },
  PATIENT,
);

test('synthesises the cdk8s example from the packed package', async () => {
  const main = await example('cdk8s/main.ts', '@porthole/constructs');
  const hostname = '0123456789abcdef-preview.example.com';
  await run(process.execPath, [main], {
    cwd: dirname(main),
    env: { ...process.env, PREVIEW_HOST: hostname },
  });
  const objects = async (chart: string) =>
    parseAllDocuments(await readFile(join(dirname(main), `dist/${chart}.k8s.yaml`), 'utf8')).map(
      (each): unknown => each.toJSON(),
    );
  expect(await objects('hello')).toMatchObject([
    { kind: 'Deployment', metadata: { name: 'hello' } },
    { kind: 'Service', spec: { selector: { 'app.kubernetes.io/name': 'hello' } } },
    { kind: 'HTTPRoute', spec: { hostnames: [hostname] } },
  ]);
  expect(await objects('limits')).toMatchObject([
    { kind: 'ValidatingAdmissionPolicy', metadata: { name: 'hello-preview-ports' } },
    { kind: 'ValidatingAdmissionPolicyBinding', spec: { policyName: 'hello-preview-ports' } },
    { kind: 'NetworkPolicy', metadata: { name: 'hello-preview-ports', namespace: 'hello' } },
  ]);
});

test(
  'ships types that reject unknown properties',
  async () => {
    const programs = await Promise.all([
      example('pulumi/main.ts', '@porthole/pulumi'),
      example('cdk8s/main.ts', '@porthole/constructs'),
    ]);
    const wrong = join(place, 'wrong.ts');
    await writeFile(
      wrong,
      `import { Porthole } from '@porthole/pulumi';
import { Preview, WarmPool } from '@porthole/constructs';
import { Chart, App } from 'cdk8s';
// @ts-expect-error There is no such setting.
new Porthole('a', { zones: [] });
// @ts-expect-error A preview has a host name.
new Preview(new Chart(new App(), 'a'), 'b', { name: 'c' });
// @ts-expect-error A pool has a template.
new WarmPool(new Chart(new App(), 'a'), 'b', { name: 'c', namespace: 'd' });
`,
    );
    expect(await typeErrors(...programs, wrong)).toBe('');
  },
  PATIENT,
);

test(
  "ships types that the compiler options of Pulumi's template find",
  async () => {
    const wrong = join(place, 'wrong-setting.ts');
    await writeFile(
      wrong,
      `import { Porthole } from '@porthole/pulumi';
// @ts-expect-error There is no such setting.
new Porthole('a', { zones: [] });
`,
    );
    const programs = [await example('pulumi/main.ts', '@porthole/pulumi'), wrong];
    expect(await compilerErrors('typescript', TEMPLATE, programs)).toBe('');
  },
  PATIENT,
);

test(
  'serves its policies from the packed package',
  async () => {
    const [packed, source] = await Promise.all([
      startPolicyPack([], {}, join(place, 'node_modules/@porthole/policies')),
      startPolicyPack(),
    ]);
    try {
      expect(packed.policies).toEqual(source.policies);
      expect(packed.policies.length).toBeGreaterThan(10);
    } finally {
      await Promise.all([packed.close(), source.close()]);
    }
  },
  PATIENT,
);

test(
  'runs the program of the README of @porthole/guest',
  async () => {
    const readme = await readFile(join(place, 'node_modules/@porthole/guest/README.md'), 'utf8');
    const [, program = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    const folder = await mkdtemp(join(place, 'guest-'));
    const file = join(place, 'guest.ts');
    await writeFile(file, program.replaceAll('/tmp/sandbox', folder));
    await mkdir(join(folder, 'workspace'));
    expect(await typeErrors(file)).toBe('');
    const { stdout } = await run(process.execPath, [file], { cwd: place });
    expect(stdout).toBe('protocol 1\n');
  },
  PATIENT,
);
