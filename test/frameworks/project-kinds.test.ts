/** `porthole up` of the built package, without arguments, on a folder of each kind of project. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startPorthole } from '#test/client/support/porthole-command.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { buildPackage } from '../../build/build-packages.ts';
import { Porthole } from '../../client/node/index.ts';
import { packagesFolder, packagesMissing, PROJECTS } from './framework-cache.ts';
import { FRAMEWORKS } from './framework-table.ts';

interface ProjectKind {
  readonly name: string;
  /** Runs in `npm test`. */
  readonly core?: true;
  /** The framework with the packages that its user has installed. */
  readonly packages?: string;
  /** Whether the framework's test project is the folder. @default true with packages */
  readonly isOwn?: true;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly started: string;
  /** A path of the preview, and a text of the project there. */
  readonly shows: readonly [path: string, text: string];
}

const manifest = (scripts: object, dependencies: object = {}) =>
  JSON.stringify({ private: true, type: 'module', scripts, dependencies });

const KINDS: readonly ProjectKind[] = [
  {
    name: 'static',
    core: true,
    files: { 'index.html': '<h1>First version</h1>' },
    started: 'static files',
    shows: ['/', 'First version'],
  },
  {
    name: 'Vite',
    core: true,
    packages: 'vite',
    scripts: { dev: 'vite' },
    started: 'Vite (npm run dev)',
    shows: ['/src/heading.js', 'First version'],
  },
  {
    name: 'Django',
    core: true,
    packages: 'django',
    started: 'Django',
    shows: ['/', 'First version'],
  },
  {
    name: 'monorepo',
    core: true,
    packages: 'vite',
    isOwn: true,
    files: {
      'package.json': JSON.stringify({ private: true, workspaces: ['sites/*', 'lib'] }),
      'lib/package.json': '{"name": "heading", "type": "module", "exports": "./index.js"}',
      'lib/index.js': "export default 'First version';",
      'sites/web/package.json': manifest({ dev: 'vite' }, { vite: '8.3.8', heading: '*' }),
      'sites/web/index.html': '<script type="module" src="/main.js"></script>',
      'sites/web/main.js': "import heading from 'heading';\ndocument.body.textContent = heading;",
    },
    started: 'Vite (npm run dev)',
    shows: ['/main.js', 'lib/index.js'],
  },
  {
    name: 'Next',
    packages: 'next',
    scripts: { dev: 'next dev' },
    started: 'Next.js (npm run dev)',
    shows: ['/', 'First version'],
  },
  {
    name: 'Astro',
    packages: 'astro',
    scripts: { dev: 'astro dev' },
    started: 'Astro (npm run dev)',
    shows: ['/', 'First version'],
  },
  {
    name: 'SvelteKit',
    packages: 'sveltekit',
    scripts: { dev: 'vite dev' },
    started: 'SvelteKit (npm run dev)',
    shows: ['/', 'First version'],
  },
  {
    name: 'Express',
    packages: 'express',
    scripts: { start: 'node server.js' },
    started: 'Express (npm run start)',
    shows: ['/', '<title>Express</title>'],
  },
  { name: 'FastAPI', packages: 'fastapi', started: 'FastAPI (uvicorn)', shows: ['/', 'First version'] },
  { name: 'Flask', packages: 'flask', started: 'Flask', shows: ['/', 'First version'] },
  {
    name: 'Streamlit',
    packages: 'streamlit',
    started: 'Streamlit',
    shows: ['/', '<title>Streamlit</title>'],
  },
  {
    name: 'Go',
    files: {
      'go.mod': 'module example.com/first\n\ngo 1.22\n',
      'main.go': `package main

import (
	"fmt"
	"log"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "First version") })
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}
`,
    },
    started: 'Go',
    shows: ['/', 'First version'],
  },
];

/** As of the frameworks: projects, `all`, or the core without names. */
const names = (process.env['PORTHOLE_FRAMEWORKS'] ?? '').split(',').filter(Boolean);
const isWanted = ({ name, core, packages = name.toLowerCase() }: ProjectKind): boolean =>
  names.length === 0 ? core === true : names.includes('all') || names.includes(packages);

function missing({ name, packages }: ProjectKind): string | undefined {
  if (name === 'Go' && !existsSync('/usr/local/go/bin/go') && !existsSync('/usr/bin/go'))
    return 'Go is missing: install it in /usr/local/go';
  const framework = FRAMEWORKS.find(({ project }) => project === packages);
  return framework === undefined ? undefined : packagesMissing(framework);
}

const LIVE_MS = 300_000;

describe('porthole up without arguments', () => {
  let host: TestHost;
  let root: string;
  let main: string;
  let environment: Record<string, string>;
  let client: Porthole;

  beforeAll(async () => {
    host = await startTestHost({ PORTHOLE_NETWORK_DEFAULT: 'off' });
    root = await mkdtemp(join(tmpdir(), 'porthole-kinds-'));
    const built = join(root, 'client');
    await mkdir(built);
    const source = join(import.meta.dirname, '../../client');
    for (const file of ['package.json', 'bin.js']) await cp(join(source, file), join(built, file));
    await buildPackage('client', join(built, 'dist'));
    await mkdir(join(built, 'node_modules'));
    for (const name of ['canonicalize', 'ignore', 'uqr', 'ws']) {
      await symlink(join(source, '../node_modules', name), join(built, 'node_modules', name));
    }
    main = join(built, 'bin.js');
    environment = {
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      XDG_CACHE_HOME: join(root, 'cache'),
    };
    client = new Porthole({ url: environment['PORTHOLE_URL'] });
  });
  afterAll(async () => {
    await host?.end();
    await rm(root, { recursive: true, force: true });
  });

  const write = async (folder: string, files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };

  /** The folder of a user who has installed its packages. */
  const projectOf = async ({ name, packages, isOwn, scripts, files = {} }: ProjectKind): Promise<string> => {
    const folder = join(root, name.toLowerCase());
    await mkdir(folder);
    if (packages !== undefined) {
      const project = join(PROJECTS, packages);
      if (isOwn !== true) await cp(project, folder, { recursive: true });
      const isNode = existsSync(join(project, 'package.json'));
      const [from, to] = isNode ? ['node_modules', 'node_modules'] : ['venv', '.venv'];
      const installed = join(packagesFolder(packages), from);
      if (isOwn === true) {
        await cp(installed, join(folder, to), { recursive: true, verbatimSymlinks: true });
        // As npm links a workspace.
        await symlink('../lib', join(folder, to, 'heading'));
      } else await symlink(installed, join(folder, to));
      if (scripts !== undefined) {
        const own = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as object;
        await writeFile(join(folder, 'package.json'), JSON.stringify({ ...own, scripts }));
      }
    }
    await write(folder, files);
    return folder;
  };

  for (const kind of KINDS.filter(isWanted)) {
    suite(kind.name, missing(kind), () => {
      test(
        `shows its page, and stops at Ctrl-C: ${kind.started}`,
        async () => {
          const cwd = await projectOf(kind);
          const began = performance.now();
          const running = startPorthole(['up'], environment, { cwd, main });
          const url = new URL((await running.until('\n')).trim());
          const [path, text] = kind.shows;
          const page = await host.call('GET', path, { host: url.host });
          const seconds = ((performance.now() - began) / 1_000).toFixed(1);
          expect([page.status, page.text]).toEqual([200, expect.stringContaining(text)]);
          running.child.kill('SIGINT');
          const { code, stderr } = await running.outcome;
          expect([code, stderr]).toEqual([0, expect.stringContaining(`Started ${kind.started} on port `)]);
          expect(stderr).toMatch(/Stopped\. The files stay.*\n$/);
          process.stdout.write(`up: ${kind.name.padEnd(10)} ${seconds.padStart(6)} s  ${kind.started}\n`);
          for await (const { info } of client.sandboxes.list({ state: 'running' }))
            expect(info).toBeUndefined();
        },
        LIVE_MS,
      );
    });
  }

  test('lists the apps of a monorepo that has several, and how to choose one', async () => {
    const cwd = join(root, 'several');
    const app = manifest({ start: 'node server.js' });
    await write(cwd, {
      'package.json': '{"private": true, "workspaces": ["apps/*"]}',
      'apps/a/package.json': app,
      'apps/b/package.json': app,
    });
    const { code, stdout, stderr } = await startPorthole(['up'], environment, { cwd, main }).outcome;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(` has 2 apps. Choose one:
  porthole up . --install -- 'cd apps/a && npm run start'
  porthole up . --install -- 'cd apps/b && npm run start'
`);
  });
});
