import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { buildPackage } from '../../build/build-packages.ts';

const ROOT = join(import.meta.dirname, '../..');
const CLIENT = join(ROOT, 'client');
const run = promisify(execFile);

interface Conditions {
  readonly [name: string]: string | Conditions;
}

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Conditions;
  readonly dependencies?: object;
}

const readManifest = async () => JSON.parse(await readFile(join(CLIENT, 'package.json'), 'utf8')) as Manifest;

/** All modules of the client, and the imports of each. */
async function imports(): Promise<readonly (readonly [string, readonly string[]])[]> {
  const files = (await readdir(CLIENT, { recursive: true })).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('dist'),
  );
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(CLIENT, file), 'utf8');
      const found = [...text.matchAll(/(?<!['-])(?:from|import)\s*\(?'([^']+)'/g)].map(
        (match) => match[1] as string,
      );
      return [file, found] as const;
    }),
  );
}

describe('the package of the client', () => {
  let place: string;
  let installed: string;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'porthole-package-'));
    installed = join(place, 'node_modules/@porthole/client');
    const packed = join(place, 'packed');
    await mkdir(packed);
    for (const file of ['package.json', 'bin.js', 'README.md', 'LICENSE'])
      await cp(join(CLIENT, file), join(packed, file));
    await buildPackage('client', join(packed, 'dist'));
    // `prepack` was already run above, in a folder of the test.
    const { stdout } = await run('npm', ['pack', '--silent', '--ignore-scripts'], { cwd: packed });
    await writeFile(join(place, 'package.json'), '{"type": "module"}');
    const install = [
      'install',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--no-save',
      join(packed, stdout.trim()),
    ];
    await run('npm', install, { cwd: place });
  });
  afterAll(() => rm(place, { recursive: true }));

  test('has four dependencies, and imports them and Node’s own modules only where Node runs it', async () => {
    expect(Object.keys((await readManifest()).dependencies ?? {})).toEqual([
      'canonicalize',
      'ignore',
      'uqr',
      'ws',
    ]);
    const all = await imports();
    expect(all.length).toBeGreaterThan(60);
    const foreign = all.flatMap(([file, specifiers]) =>
      specifiers.filter((specifier) => {
        if (specifier.startsWith('node:') || ['canonicalize', 'ignore', 'uqr', 'ws'].includes(specifier))
          return !/^(node|cli)\//.test(file);
        const target = relative(CLIENT, resolve(CLIENT, file, '..', specifier));
        return !specifier.startsWith('.') || target.startsWith('..');
      }),
    );
    expect(foreign).toEqual([]);
  });

  test.each([
    ['the packed package', () => place],
    ['a clone', () => ROOT],
  ])('runs by npx in %s', async (_where, folder) => {
    const { stdout } = await run('npx', ['--no-install', 'porthole', '--help'], { cwd: folder() });
    expect(stdout).toMatch(/^porthole: .*\n\nusage: porthole <command> \[options\]\n/);
  });

  test('bundles for browsers, without anything of Node', async () => {
    const { metafile, outputFiles } = await build({
      stdin: { contents: "export * from '@porthole/client';", resolveDir: place },
      bundle: true,
      platform: 'browser',
      format: 'esm',
      target: ['chrome124', 'firefox124', 'safari17.4'],
      minify: true,
      write: false,
      metafile: true,
    });
    const external = Object.values(metafile.inputs).flatMap(({ imports: found }) =>
      found.filter((each) => each.external),
    );
    expect(external).toEqual([]);
    expect(Object.keys(metafile.inputs).filter((input) => /dist\/(node|cli)\//.test(input))).toEqual([]);
    expect(outputFiles[0]?.contents.length).toBeLessThan(50_000);
  });

  test('has every file that its manifest names', async () => {
    const { bin, exports } = await readManifest();
    const filesOf = (conditions: Conditions): readonly string[] =>
      Object.values(conditions).flatMap((each) => (typeof each === 'string' ? each : filesOf(each)));
    const named = [...Object.values(bin), ...filesOf(exports)];
    expect(named.filter((file) => !existsSync(join(installed, file)))).toEqual([]);
    expect(await readFile(join(installed, bin['porthole'] ?? ''), 'utf8')).toMatch(
      /^#!\/usr\/bin\/env node\n/,
    );
  });

  test('tells its types to browsers and to Node', async () => {
    await writeFile(
      join(place, 'use.ts'),
      `import { Porthole, connectFromConfig, type Sandbox } from '@porthole/client';
const porthole = new Porthole({ url: 'http://127.0.0.1:8787' });
export const use = async (sandbox: Sandbox): Promise<string> => {
  for await (const event of sandbox.exec(['ls'])) if (event.type === 'exit') return String(event.exitCode);
  const { tools } = await connectFromConfig(sandbox.sandboxConfig(), { allowedUrl: 'http://127.0.0.1:8787' });
  return String(await tools[0]?.run({ path: 'a' })) + (await porthole.sandboxes.create()).id;
};
// @ts-expect-error There is no such option.
porthole.sandboxes.create({ colour: 'red' }).catch(() => undefined);
`,
    );
    await writeFile(
      join(place, 'use-node.ts'),
      `import { syncFolder, type SyncResult } from '@porthole/client/node';
import { Porthole } from '@porthole/client';
const { sandboxes } = new Porthole({ url: 'http://127.0.0.1:8787' });
export const result = async (): Promise<SyncResult> => syncFolder(sandboxes.at('a'), '.', { to: 'b' });
`,
    );
    const tsc = (file: string, ...options: string[]) =>
      run(
        process.execPath,
        [
          join(ROOT, 'node_modules/native-typescript/bin/tsc'),
          '--ignoreConfig',
          '--noEmit',
          '--strict',
          '--module',
          'nodenext',
          '--target',
          'es2022',
          ...options,
          file,
        ],
        { cwd: place },
      ).then(
        () => '',
        (error: { readonly stdout: string }) => error.stdout,
      );
    expect(await tsc('use.ts', '--lib', 'es2022,dom,esnext.disposable', '--types', '')).toBe('');
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), '--skipLibCheck'];
    expect(await tsc('use-node.ts', '--lib', 'es2022,esnext.disposable', ...types)).toBe('');
  });

  test('runs as a command', async () => {
    const main = join(installed, 'dist/cli/main.js');
    const { stdout } = await run(process.execPath, [main, '--help']);
    expect(stdout).toMatch(/^porthole: sandboxes, and live previews of what runs in them\n/);
  });
});
