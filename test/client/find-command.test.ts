import { describe, expect, test } from '@jest/globals';
import { commandOfImage, findCommand, workspaceFolders } from '../../client/cli/up/find-command.ts';

/** Finds the command of a project with these files. */
const find = (files: Readonly<Record<string, string>>) =>
  findCommand({ files: new Set(Object.keys(files)), texts: new Map(Object.entries(files)) });
const manifest = (scripts: object, dependencies: object = {}) => JSON.stringify({ scripts, dependencies });
const VENV = '. .venv/bin/activate && ';

describe('findCommand', () => {
  test.each([
    ['Vite', { 'package.json': manifest({ dev: 'vite' }, { vite: '8' }) }, 'npm run dev', 5173],
    [
      'Vite on a port',
      { 'package.json': manifest({ dev: 'vite --port 4001' }, { vite: '8' }) },
      'npm run dev',
      4001,
    ],
    [
      'Next',
      { 'package.json': manifest({ dev: 'next dev' }, { next: '16' }), 'pnpm-lock.yaml': '' },
      'pnpm run dev',
      3000,
    ],
    ['Astro', { 'package.json': manifest({ dev: 'astro dev' }, { astro: '6' }) }, 'npm run dev', 4321],
    [
      'SvelteKit',
      { 'package.json': manifest({ dev: 'vite dev' }, { '@sveltejs/kit': '2', vite: '8' }), 'bun.lock': '' },
      'bun run dev',
      5173,
    ],
    [
      'Express',
      { 'package.json': manifest({ start: 'node server.js' }, { express: '5' }) },
      'npm run start',
      3000,
    ],
    [
      'a Procfile',
      {
        Procfile: 'release: x\nweb: node server.js --port 4002\n',
        'package.json': manifest({ dev: 'vite' }),
      },
      'node server.js --port 4002',
      4002,
    ],
    [
      'static files',
      { 'index.html': '' },
      'exec python3 -m http.server "$PORT" --bind 127.0.0.1 --directory .',
      3000,
    ],
    [
      'built static files',
      { 'dist/index.html': '', 'package.json': '{}' },
      'exec python3 -m http.server "$PORT" --bind 127.0.0.1 --directory dist',
      3000,
    ],
    [
      'Django',
      { 'manage.py': '', 'requirements.txt': '' },
      `${VENV}python3 manage.py runserver "127.0.0.1:$PORT"`,
      8000,
    ],
    [
      'FastAPI',
      { 'main.py': 'from fastapi import FastAPI\napi = FastAPI()\n' },
      `${VENV}python3 -m uvicorn main:api --host 127.0.0.1 --port "$PORT" --reload`,
      8000,
    ],
    [
      'Flask',
      { 'app.py': 'import flask\napp = flask.Flask(__name__)\n', 'requirements.txt': '' },
      `${VENV}python3 -m flask --app app:app run --debug --port "$PORT"`,
      5000,
    ],
    [
      'Streamlit',
      { 'streamlit_app.py': 'import streamlit as st\n' },
      `${VENV}python3 -m streamlit run streamlit_app.py --server.port "$PORT" --server.address 127.0.0.1 --server.headless true --server.runOnSave true`,
      8501,
    ],
    ['Go', { 'go.mod': '', 'main.go': '' }, 'go run .', 8080],
    [
      'Ruby on Rails',
      { Gemfile: '', 'bin/rails': '', 'package.json': '{"scripts": {"build": "esbuild"}}' },
      'rm -f tmp/pids/server.pid && exec ruby bin/rails server -b 127.0.0.1 -p "$PORT"',
      3000,
    ],
    ['Rust', { 'Cargo.toml': '', 'src/main.rs': '' }, 'cargo run', 3000],
    [
      'Deno',
      { 'deno.json': '{\n  // tasks\n  "tasks": {"dev": "deno serve --watch --port 8001 main.ts"}}' },
      'deno task dev',
      8001,
    ],
    [
      'Gradio',
      { 'app.py': 'import gradio as gr\n', 'requirements.txt': '' },
      `${VENV}GRADIO_SERVER_PORT="$PORT" python3 app.py`,
      7860,
    ],
  ])('finds the command of %s', (_kind, files, command, port) => {
    expect(find(files)).toMatchObject({ command, port, cwd: '' });
  });

  test('gives Go the time to compile', () => {
    expect(find({ 'go.mod': '', 'main.go': '' })).toMatchObject({ timeout: '5m' });
  });

  test('finds the app of a monorepo, and installs at its root', () => {
    expect(
      find({
        'package.json': manifest({ build: 'turbo build' }),
        'package-lock.json': '',
        'packages/ui/package.json': manifest({ dev: 'tsc --watch' }),
        'apps/web/package.json': manifest({ dev: 'next dev' }, { next: '16' }),
      }),
    ).toMatchObject({
      command: 'npm run dev',
      port: 3000,
      cwd: 'apps/web',
      install: { command: 'npm ci --no-audit --no-fund', inputs: ['package.json', 'package-lock.json'] },
    });
  });

  test('lists the apps of a monorepo that has several', () => {
    const apps = {
      'package.json': manifest({}),
      'pnpm-lock.yaml': '',
      'apps/api/package.json': manifest({ start: 'node .' }, { express: '5' }),
      'apps/web/package.json': manifest({ dev: 'next dev' }, { next: '16' }),
    };
    expect(() => find(apps)).toThrow(
      expect.objectContaining({
        commands: ['cd apps/api && pnpm run start', 'cd apps/web && pnpm run dev'],
      }),
    );
    // A script of the root starts all of them, as with Turborepo.
    expect(find({ ...apps, 'package.json': manifest({ dev: 'turbo dev' }) })).toMatchObject({
      command: 'pnpm run dev',
      cwd: '',
    });
  });

  test.each([
    ['npm', { 'package.json': '{"workspaces": ["./sites/*", "docs", "a/*/b", "../up", "!sites/old"]}' }],
    ['Yarn', { 'package.json': '{"workspaces": {"packages": ["sites/**", "docs/"]}}' }],
    ['pnpm', { 'package.json': '{}', 'pnpm-workspace.yaml': "packages:\n  - 'sites/*'\n  - docs # one\n" }],
  ])('reads the workspaces of %s', (_manager, files) => {
    const texts = new Map<string, string>(Object.entries(files));
    expect(workspaceFolders(texts)).toEqual(['apps/*', 'packages/*', 'sites/*', 'docs']);
  });

  test.each([
    ['uv.lock', '.venv/bin/uv sync --quiet --frozen --inexact'],
    ['poetry.lock', 'poetry install --quiet'],
    ['requirements.txt', 'pip install --quiet -r requirements.txt'],
    ['pyproject.toml', 'pip install --quiet .'],
  ])('installs by %s', (file, command) => {
    const install = find({ 'manage.py': '', 'pyproject.toml': '', [file]: '' })?.install;
    expect(install).toMatchObject({ makes: '.venv', inputs: [file] });
    expect(install?.command).toContain(command);
  });

  test('installs the framework of a Python project that names no packages', () => {
    const install = find({ 'manage.py': '' })?.install;
    expect(install).toMatchObject({ makes: '.venv', inputs: [] });
    expect(install?.command).toContain("pip install --quiet 'django'");
  });

  test('installs nothing for a package without dependencies', () => {
    expect(find({ 'package.json': manifest({ start: 'node server.js' }) })?.install).toBeUndefined();
  });

  test('reads the command of an image', () => {
    expect(commandOfImage('FROM node\nCMD ["node", "a.js"]\nCMD [ "node", "server.js" ]\n')).toBe(
      'node server.js',
    );
    expect(commandOfImage('FROM node\ncmd node server.js\n')).toBe('node server.js');
    expect(commandOfImage('FROM node\n')).toBeUndefined();
    expect(commandOfImage('CMD [node')).toBeUndefined();
  });

  test('finds nothing in a folder of texts, and in a broken package.json', () => {
    expect(find({ 'notes.txt': '', 'main.py': 'print(1)' })).toBeUndefined();
    expect(find({ 'package.json': '{"scripts":' })).toBeUndefined();
  });
});
