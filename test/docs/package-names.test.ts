import { expect, test } from '@jest/globals';
import { PACKAGES } from '../../build/build-packages.ts';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** What users read or run: documents, the console, the programs and what they print, examples. */
const FOLDERS = [
  '*.md',
  'docs',
  'client',
  'console/src',
  'constructs',
  'examples',
  'guest',
  'handlers',
  'host',
  'infra',
  'integrations',
  'policies',
  'python',
];
const files = execFileSync('git', ['ls-files', '-z', ...FOLDERS], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((file) => /\.(md|mdx|ts|tsx|py|toml|html|txt|ya?ml)$/.test(file) && file !== 'CHANGELOG.md');

/** Commands that would fetch one of our names from a registry. */
const BY_NAME = [
  /\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add|exec|dlx)\s[^`\n]*@porthole\b/,
  /\b(?:npx|bunx|pnpx)\s[^`\n]*@porthole\b/,
  /\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add|dlx)\s+(?:-\S+\s+)*porthole\b/,
  /\b(?:pip3?|pipx|uv|uvx|poetry)\s+(?:pip\s+)?(?:install|add|run|tool install)\s+(?:-\S+\s+)*["'`]?porthole\b/,
];

test.each([
  ['npm install @porthole/client', true],
  ['npm install --save-dev zod @porthole/guest', true],
  ['pnpm add porthole', true],
  ['pip install porthole[langchain]', true],
  ["uv pip install 'porthole-client'", true],
  ['npx @porthole/client up', true],
  ['npm install ../porthole/porthole-client-0.2.0.tgz', false],
  ["pip install './python[langchain]'", false],
])('knows whether %j takes a package from a registry: %s', (command, expected) => {
  expect(BY_NAME.some((pattern) => pattern.test(command))).toBe(expected);
});

test('tells no user to install a package by a name that is not registered', () => {
  expect(files.length).toBeGreaterThan(200);
  const found = files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line) => (BY_NAME.some((pattern) => pattern.test(line)) ? [`${file}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});

test('runs the command by npx where documents say that the clone has it', () => {
  const pages = files.filter((file) => file.endsWith('.md') && /npx porthole\b/.test(read(file)));
  expect(pages.filter((file) => !/\bclone\b/.test(read(file)))).toEqual([]);
});

test('lists every package in docs/guides/releases.md, with the names to register', () => {
  const npm = PACKAGES.map(
    (folder) => (JSON.parse(read(`${folder}/package.json`)) as { readonly name: string }).name,
  );
  const pypi = /^name = "(.+)"$/m.exec(read('python/pyproject.toml'))?.[1] ?? '';
  const page = read('docs/guides/releases.md');
  for (const name of [...npm, pypi]) expect(page).toContain(`| \`${name}\``);
  const [, toRegister = ''] = page.split('## Register the names before the first release');
  expect(toRegister).toContain('`@porthole`');
  expect(toRegister).toContain(`\`${pypi}\``);
});
