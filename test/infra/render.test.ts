import { rootCertificates } from 'node:tls';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { recordProgram } from '../pulumi/record-program.ts';
import { reveal } from '../pulumi/wire-values.ts';
import { MAIN, SERVICE_KEY, stackFile } from './support/stack-files.ts';

const PATIENT = 180_000;
const RENDER = join(import.meta.dirname, '../../infra/render/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'porthole-render-'));

afterAll(() => rmSync(folder, { recursive: true }));

const file = stackFile({
  'porthole:sandboxes': {
    templates: { node: { image: 'sandbox@sha256:1' } },
    warmPools: { ready: { template: 'node', replicas: 2 } },
    egress: ['203.0.113.0/24'],
  },
  'porthole:browsers': { image: 'browsers@sha256:1' },
  'porthole:gateway': {
    className: 'traefik',
    podNamespace: 'traefik',
    podLabels: { app: 'traefik' },
    probe: {
      url: 'https://traefik.traefik.svc:8443',
      ca: rootCertificates[0],
    },
  },
});

const render = (...args: string[]) =>
  promisify(execFile)(process.execPath, [RENDER, '--stack', 'prod', ...args], { cwd: folder });

interface Named {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}
const keyOf = ({ kind, metadata }: Named) => `${kind} ${metadata.namespace ?? '-'}/${metadata.name}`;
const byKey = (objects: readonly unknown[]) =>
  Object.fromEntries((objects as Named[]).map((each) => [keyOf(each), each]));

test(
  'renders every object that the program declares, and no other',
  async () => {
    writeFileSync(join(folder, 'Pulumi.prod.yaml'), stringify({ config: file.config }));
    writeFileSync(join(folder, 'secrets.yaml'), stringify(file.secrets));
    const { stdout } = await render('--values', 'secrets.yaml');
    const { registrations } = await recordProgram({
      project: 'porthole',
      stack: 'test',
      main: MAIN,
      stackFile: file,
      dryRun: false,
      read: () => ({}),
    });
    const applied = registrations
      .filter(({ type }) => type.startsWith('kubernetes:'))
      .map(({ inputs }) => reveal(inputs));
    const rendered = parseAllDocuments(stdout).map((document): unknown => document.toJSON());
    expect(rendered.length).toBeGreaterThan(45);
    expect(byKey(rendered)).toEqual(byKey(applied));
  },
  PATIENT,
);

test(
  'names what is encrypted, and what to do about it',
  async () => {
    const config = { ...file.config, 'porthole:serviceKey': { secure: 'v1:abc' } };
    writeFileSync(join(folder, 'Pulumi.prod.yaml'), stringify({ config }));
    await expect(render()).rejects.toMatchObject({
      code: 1,
      stderr: `The stack's configuration has a problem:
  - porthole:serviceKey: is encrypted by Pulumi: put it in a file of --values, or use functions.existingSecret
`,
    });
  },
  PATIENT,
);

test(
  'names the keys that it would ignore, each with its file and the likely setting',
  async () => {
    writeFileSync(join(folder, 'Pulumi.prod.yaml'), stringify({ config: file.config, confg: {} }));
    writeFileSync(join(folder, 'flat.yaml'), stringify({ serviceKey: 'x', 'kubernetes:context': 'kind' }));
    writeFileSync(join(folder, 'stack.yaml'), stringify({ encryptionsalt: 'x', config: { zones: [] } }));
    await expect(render('--values', 'flat.yaml', '--values', 'stack.yaml')).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: `The stack's configuration has 4 problems:
  - Pulumi.prod.yaml: confg: is not a setting; settings begin with porthole:
  - flat.yaml: serviceKey: is not a setting; did you mean porthole:serviceKey?
  - flat.yaml: kubernetes:context: is not a setting; settings begin with porthole:
  - stack.yaml: zones: is not a setting; did you mean porthole:zones?
`,
    });
  },
  PATIENT,
);

test(
  'asks for missing secrets in a file, which may be written like a stack file',
  async () => {
    writeFileSync(join(folder, 'Pulumi.prod.yaml'), stringify({ config: file.config }));
    await expect(render()).rejects.toMatchObject({
      stderr: `The stack's configuration has 3 problems:
  - porthole:databaseUrl: is required with more than one replica (functions.maxReplicas is 10); put porthole:databaseUrl in a file of --values
  - porthole:signingKeys: is required, so that URLs outlive a pod and every replica signs with the same keys; put porthole:signingKeys in a file of --values
  - porthole:serviceKey, apiKeys or oidc: one is required, because nothing else would tell callers apart; put porthole:serviceKey in a file of --values
`,
    });
    const config = { ...file.secrets, 'kubernetes:context': 'kind' };
    writeFileSync(join(folder, 'secrets.yaml'), stringify({ encryptionsalt: 'v1:x', config }));
    const { stdout } = await render('--values', 'secrets.yaml');
    expect(stdout).toContain(Buffer.from(SERVICE_KEY).toString('base64'));
  },
  PATIENT,
);

test(
  'renders the example of production with the secrets that the guide shows',
  async () => {
    const root = join(import.meta.dirname, '../..');
    const guide = readFileSync(join(root, 'docs/guides/deploy-programs.md'), 'utf8');
    const [, sample = ''] = /```yaml\n(porthole:databaseUrl.*?)```/s.exec(guide) ?? [];
    copyFileSync(join(root, 'Pulumi.prod.yaml'), join(folder, 'Pulumi.prod.yaml'));
    writeFileSync(join(folder, 'secrets.yaml'), sample);
    const { stdout } = await render('--values', 'secrets.yaml');
    expect(parseAllDocuments(stdout).length).toBeGreaterThan(45);
  },
  PATIENT,
);
