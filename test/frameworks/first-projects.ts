/**
 * Projects as public generators make them, unchanged. What a generator writes is cached by its
 * command, with its version, outside the repository.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';

const run = promisify(execFile);

export interface FirstProject {
  readonly name: string;
  /** Runs in `npm test`; the others with `npm run test:frameworks`. */
  readonly core?: true;
  /** Words of a command that makes the folder `app`. */
  readonly generator?: readonly string[];
  /** Files of a project without a generator, or with one that downloads from elsewhere. */
  readonly files?: Readonly<Record<string, string>>;
  /** A text of its page. */
  readonly shows: string;
  /** Errors of its page that do not come from its server. */
  readonly noise?: RegExp;
  /** An edit after which the page has `EDITED`. */
  readonly edit: { readonly file: string; readonly from: string; readonly to: string };
  /** A program below /usr that a sandbox must have. */
  readonly needs?: string;
}

export const EDITED = 'Edited title';
const FIRST = 'First version';
/** Where the first text of the project is in a file. */
const editOf = (file: string, from = FIRST, to = EDITED) => ({ file, from, to });

const CREATE_VITE = ['npx', 'create-vite@9.3.0', 'app', '--no-interactive', '--template'];
const VITE_APP = {
  'packages/web/index.html': `<!doctype html><title>Web</title><h1>${FIRST}</h1>`,
  'packages/web/package.json': JSON.stringify({
    name: 'web',
    private: true,
    type: 'module',
    scripts: { dev: 'vite' },
    devDependencies: { vite: '^7.0.0' },
  }),
};
const workspace = (packageManager: string, dev: string, workspaces?: readonly string[]) => ({
  ...VITE_APP,
  'package.json': JSON.stringify({
    name: 'mono',
    private: true,
    packageManager,
    workspaces,
    scripts: { dev },
  }),
});

export const FIRST_PROJECTS: readonly FirstProject[] = [
  {
    name: 'static folder',
    core: true,
    files: { 'index.html': `<!doctype html><title>Static</title><h1>${FIRST}</h1>` },
    shows: FIRST,
    edit: editOf('index.html'),
  },
  {
    name: 'create-vite react-ts',
    core: true,
    generator: [...CREATE_VITE, 'react-ts'],
    shows: 'Get started',
    edit: editOf('src/App.tsx', 'Get started'),
  },
  {
    name: 'Express generator',
    core: true,
    generator: ['npx', 'express-generator@4.16.1', '--no-view', 'app'],
    shows: 'Welcome to Express',
    edit: editOf(
      'app.js',
      'var app = express();',
      `var app = express();\napp.get('/', (_, answer) => answer.send('<h1>${EDITED}</h1>'));`,
    ),
  },
  {
    name: 'pnpm workspace',
    core: true,
    files: {
      ...workspace('pnpm@10.33.0', 'pnpm --filter web dev'),
      'pnpm-workspace.yaml': 'packages:\n  - packages/*\n',
    },
    shows: FIRST,
    edit: editOf('packages/web/index.html'),
  },
  {
    name: 'Flask',
    core: true,
    files: {
      'requirements.txt': 'flask\n',
      '.gitignore': '*.py[cod]\n__pycache__/\n!/keep-me.txt\n',
      'app.py': `from flask import Flask\n\napp = Flask(__name__)\n\n\n@app.get("/")\ndef home():\n    return "<h1>${FIRST}</h1>"\n`,
    },
    shows: FIRST,
    edit: editOf('app.py'),
  },
  {
    name: 'Go',
    needs: '/usr/local/go/bin/go',
    files: {
      'go.mod': 'module example.com/first\n\ngo 1.22\n',
      'main.go': `package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<h1>${FIRST}</h1>") })
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
`,
    },
    shows: FIRST,
    edit: editOf('main.go'),
  },
  {
    name: 'create-vite vue',
    core: true,
    generator: [...CREATE_VITE, 'vue'],
    shows: 'Get started',
    edit: editOf('src/components/HelloWorld.vue', 'Get started'),
  },
  {
    name: 'create-vite svelte',
    generator: [...CREATE_VITE, 'svelte'],
    shows: 'Get started',
    edit: editOf('src/App.svelte', 'Get started'),
  },
  {
    name: 'create-next-app',
    generator: [
      'npx',
      'create-next-app@16.4.3',
      'app',
      '--yes',
      '--ts',
      '--no-eslint',
      '--app',
      '--skip-install',
      '--disable-git',
    ],
    shows: 'To get started',
    edit: editOf('app/page.tsx', 'To get started', EDITED),
  },
  {
    name: 'sv create',
    generator: [
      'npx',
      'sv@0.17.1',
      'create',
      'app',
      '--template',
      'minimal',
      '--types',
      'ts',
      '--no-add-ons',
      '--no-install',
    ],
    shows: 'Welcome to SvelteKit',
    edit: editOf('src/routes/+page.svelte', 'Welcome to SvelteKit'),
  },
  {
    name: 'ng new',
    generator: [
      'npx',
      '@angular/cli@22.2.7',
      'new',
      'app',
      '--defaults',
      '--skip-install',
      '--skip-git',
      '--no-interactive',
    ],
    shows: 'Hello, app',
    edit: editOf('src/app/app.ts', "signal('app')", `signal('${EDITED}')`),
  },
  {
    name: 'Nuxt, by its package',
    files: {
      'package.json': JSON.stringify({
        private: true,
        type: 'module',
        scripts: { dev: 'nuxt dev' },
        dependencies: { nuxt: '^4.0.0' },
      }),
      'app/app.vue': `<template><h1>${FIRST}</h1></template>\n`,
    },
    shows: FIRST,
    edit: editOf('app/app.vue'),
  },
  {
    name: 'Astro, by its package',
    files: {
      'package.json': JSON.stringify({
        private: true,
        type: 'module',
        scripts: { dev: 'astro dev' },
        dependencies: { astro: '^6.0.0' },
      }),
      'src/pages/index.astro': `<!doctype html><html lang="en"><title>Astro</title><h1>${FIRST}</h1></html>\n`,
    },
    shows: FIRST,
    edit: editOf('src/pages/index.astro'),
  },
  {
    name: 'Yarn 4 workspace',
    files: workspace('yarn@4.9.1', 'yarn workspace web dev', ['packages/*']),
    shows: FIRST,
    edit: editOf('packages/web/index.html'),
  },
  {
    name: 'Yarn 4 workspace, empty lock file',
    files: { ...workspace('yarn@4.9.1', 'yarn workspace web dev', ['packages/*']), 'yarn.lock': '' },
    shows: FIRST,
    edit: editOf('packages/web/index.html'),
  },
  {
    name: 'Bun',
    files: {
      'package.json': JSON.stringify({
        private: true,
        packageManager: 'bun@1.4.5',
        scripts: { dev: 'bun server.ts' },
      }),
      'server.ts': `Bun.serve({ port: process.env.PORT, fetch: () => new Response('<h1>${FIRST}</h1>', { headers: { 'content-type': 'text/html' } }) });\n`,
    },
    shows: FIRST,
    edit: editOf('server.ts'),
  },
  {
    name: 'Deno',
    files: {
      'deno.json': '{"tasks": {"dev": "deno serve --allow-env --port 8000 main.ts"}}',
      'main.ts': `export default { fetch: () => new Response('<h1>${FIRST}</h1>', { headers: { 'content-type': 'text/html' } }) };\n`,
    },
    shows: FIRST,
    edit: editOf('main.ts'),
  },
  {
    name: 'django-admin startproject',
    generator: [
      'sh',
      '-c',
      'python3 -m venv made && made/bin/python -m pip install --quiet django==5.2.8 && mkdir app && made/bin/python -m django startproject shop app && rm -rf made',
    ],
    shows: 'The install worked successfully',
    edit: editOf(
      'shop/urls.py',
      'urlpatterns = [',
      `from django.http import HttpResponse\nurlpatterns = [\n    path("", lambda _: HttpResponse("<h1>${EDITED}</h1>")),`,
    ),
  },
  {
    name: 'FastAPI',
    files: {
      'main.py': `from fastapi import FastAPI\nfrom fastapi.responses import HTMLResponse\n\napp = FastAPI()\n\n\n@app.get("/", response_class=HTMLResponse)\ndef home():\n    return "<h1>${FIRST}</h1>"\n`,
      'requirements.txt': 'fastapi[standard]\n',
    },
    shows: FIRST,
    edit: editOf('main.py'),
  },
  {
    name: 'Streamlit',
    files: {
      'streamlit_app.py': `import streamlit as st\n\nst.title("${FIRST}")\n`,
      'requirements.txt': 'streamlit\n',
    },
    shows: FIRST,
    noise: /streamlit\.io|metrics/,
    edit: editOf('streamlit_app.py'),
  },
  {
    name: 'Gradio',
    files: {
      'app.py': `import gradio as gr\n\nwith gr.Blocks() as demo:\n    gr.Markdown("# ${FIRST}")\n\ndemo.launch()\n`,
      'requirements.txt': 'gradio\n',
    },
    shows: FIRST,
    edit: editOf('app.py'),
  },
  {
    name: 'Ruby on Rails',
    needs: '/usr/bin/rails',
    generator: ['rails', 'new', 'app', '--minimal', '--skip-bundle', '--skip-git'],
    shows: 'on Rails!',
    edit: editOf(
      'config/routes.rb',
      'Rails.application.routes.draw do',
      `Rails.application.routes.draw do\n  root to: ->(_) { [200, { 'content-type' => 'text/html' }, ['<h1>${EDITED}</h1>']] }`,
    ),
  },
  {
    name: 'React Router, by its packages',
    files: {
      'package.json': JSON.stringify({
        private: true,
        type: 'module',
        scripts: { build: 'react-router build', dev: 'react-router dev' },
        dependencies: {
          '@react-router/node': '8.4.0',
          '@react-router/serve': '8.4.0',
          isbot: '^5.0.0',
          react: '^19.0.0',
          'react-dom': '^19.0.0',
          'react-router': '8.4.0',
        },
        devDependencies: { '@react-router/dev': '8.4.0', typescript: '^5.0.0', vite: '^8.0.0' },
      }),
      'vite.config.ts': `import { reactRouter } from '@react-router/dev/vite';\nimport { defineConfig } from 'vite';\n\nexport default defineConfig({ plugins: [reactRouter()] });\n`,
      'react-router.config.ts': 'export default { ssr: true };\n',
      'app/routes.ts': `import { index } from '@react-router/dev/routes';\n\nexport default [index('routes/home.tsx')];\n`,
      'app/root.tsx': `import { Links, Meta, Outlet, Scripts, ScrollRestoration } from 'react-router';

export default function App() {
  return (
    <html lang="en">
      <head>
        <Meta />
        <Links />
      </head>
      <body>
        <Outlet />
        <ScrollRestoration />
        <Scripts />
      </body>
    </html>
  );
}
`,
      'app/routes/home.tsx': `export default function Home() {\n  return <h1>${FIRST}</h1>;\n}\n`,
    },
    shows: FIRST,
    edit: editOf('app/routes/home.tsx'),
  },
  {
    name: 'Rust (axum)',
    needs: '/usr/bin/cargo',
    files: {
      'Cargo.toml':
        '[package]\nname = "first"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\naxum = "0.7"\ntokio = { version = "1", features = ["rt-multi-thread", "macros", "net"] }\n',
      'src/main.rs': `use axum::{response::Html, routing::get, Router};

#[tokio::main]
async fn main() {
    let app = Router::new().route("/", get(|| async { Html("<h1>${FIRST}</h1>") }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await.unwrap();
    axum::serve(listener, app).await.unwrap();
}
`,
    },
    shows: FIRST,
    edit: editOf('src/main.rs'),
  },
];

/** A folder with the project; the cached one of a generator must not be changed. */
export async function firstProject({ generator, files }: FirstProject, folder: string): Promise<void> {
  if (generator !== undefined) await run('cp', ['-a', await generated(generator), folder]);
  else await mkdir(folder);
  for (const [path, text] of Object.entries(files ?? {})) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** What a generator makes: once for each command, complete or not at all. */
async function generated(generator: readonly string[]): Promise<string> {
  const digest = createHash('sha256').update(JSON.stringify(generator)).digest('hex').slice(0, 16);
  const target = join(cacheFolder(), 'first-projects', digest);
  if (existsSync(target)) return target;
  const work = `${target}.${process.pid}`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const [program = '', ...words] = generator;
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
    CI: '1',
    npm_config_yes: 'true',
    NEXT_TELEMETRY_DISABLED: '1',
    NG_CLI_ANALYTICS: 'false',
  };
  const done = run(program, words, { cwd: work, env });
  // A generator that asks gets no answer, and ends.
  done.child.stdin?.end();
  await done;
  await rename(join(work, 'app'), target).catch((error: NodeJS.ErrnoException) => {
    // Another process was faster.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  await rm(work, { recursive: true, force: true });
  return target;
}
