import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { findCommand, toolFor } from '../../client/cli/up/find-command.ts';
import {
  installPackages,
  packageManagerOf,
  provideTool,
  TOOLS,
  withTool,
} from '../../client/cli/up/package-manager.ts';

const projectOf = (files: Readonly<Record<string, string>>) => ({
  files: new Set(Object.keys(files)),
  texts: new Map(Object.entries(files)),
});
const APP = { scripts: { dev: 'vite' }, dependencies: { vite: '8' } };
const manifest = (fields: object = {}) => JSON.stringify({ ...APP, ...fields });

describe('packageManagerOf', () => {
  test.each([
    ['packageManager', { 'package.json': manifest({ packageManager: 'pnpm@10.33.0' }) }, 'pnpm@10.33.0'],
    [
      'packageManager with its hash, before any lock file',
      { 'package.json': manifest({ packageManager: 'pnpm@9.1.0+sha512.ab' }), 'yarn.lock': '' },
      'pnpm@9.1.0',
    ],
    [
      'devEngines',
      { 'package.json': manifest({ devEngines: { packageManager: { name: 'pnpm', version: '^10.0.0' } } }) },
      'pnpm@^10.0.0',
    ],
    ['a new Yarn', { 'package.json': manifest({ packageManager: 'yarn@4.9.1' }) }, '@yarnpkg/cli-dist@4.9.1'],
    ['an old Yarn', { 'package.json': manifest({ packageManager: 'yarn@1.22.22' }) }, 'yarn@1.22.22'],
    ['pnpm-workspace.yaml', { 'package.json': manifest(), 'pnpm-workspace.yaml': '' }, 'pnpm@10'],
    [
      'pnpm-lock.yaml of pnpm 8',
      { 'package.json': manifest(), 'pnpm-lock.yaml': "lockfileVersion: '6.0'\n" },
      'pnpm@8',
    ],
    ['yarn.lock of Yarn 1', { 'package.json': manifest(), 'yarn.lock': '# yarn lockfile v1\n\n' }, 'yarn@1'],
    ['an empty yarn.lock', { 'package.json': manifest(), 'yarn.lock': '' }, '@yarnpkg/cli-dist@4'],
    ['bun.lock', { 'package.json': manifest(), 'bun.lock': '' }, 'bun@1'],
    ['bun.lockb', { 'package.json': manifest(), 'bun.lockb': '' }, 'bun@1'],
    ['package-lock.json', { 'package.json': manifest(), 'package-lock.json': '' }, undefined],
    ['a packageManager of npm', { 'package.json': manifest({ packageManager: 'npm@11.0.0' }) }, undefined],
    ['no file', { 'package.json': manifest() }, undefined],
  ])('chooses by %s', (_what, files, tool) => {
    const manager = packageManagerOf(projectOf(files));
    expect(manager.tool?.package).toBe(tool);
    const found = findCommand(projectOf(files));
    expect(found).toMatchObject({ command: `${manager.name} run dev`, tool: manager.tool });
    expect(found?.install?.command).toMatch(new RegExp(`^${manager.name} (?:install|ci)`));
  });

  test('installs again after a change of any package.json where there is no lock file', () => {
    const files = { 'package.json': '{}', 'pnpm-workspace.yaml': '', 'packages/web/package.json': '{}' };
    expect(installPackages(projectOf(files)).inputs).toEqual(['package.json', 'packages/web/package.json']);
    const locked = { ...files, 'pnpm-lock.yaml': '' };
    expect(installPackages(projectOf(locked)).inputs).toEqual(['package.json', 'pnpm-lock.yaml']);
  });

  test('gives a command after -- the package manager that it names', () => {
    const project = projectOf({ 'package.json': manifest({ packageManager: 'pnpm@10.33.0' }) });
    expect(toolFor('cd apps/a && pnpm run dev', project)?.package).toBe('pnpm@10.33.0');
    expect(toolFor('node server.js', project)).toBeUndefined();
  });
});

describe('provideTool', () => {
  const tool = { name: 'sh', package: 'sh@1', isExact: false, environment: {} };

  test('takes the program of the sandbox, unless the project names a version', () => {
    const run = (line: string) =>
      execFileSync('sh', ['-c', `npm() { echo "npm $*"; }; mkdir() { :; }; ${line} || true`], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    expect(run(provideTool(tool))).toBe('');
    expect(run(provideTool({ ...tool, isExact: true }))).toContain(`--prefix ${TOOLS}`);
    expect(run(provideTool({ ...tool, name: 'no-such-program' }))).toContain('sh@1');
  });

  test('sets the path and the variables for every part of a line', () => {
    const line = withTool('echo "$A" && echo "$PATH"', { ...tool, environment: { A: '1' } });
    expect(execFileSync('sh', ['-c', line], { encoding: 'utf8' })).toMatch(
      new RegExp(`^1\n${TOOLS}/node_modules/\\.bin:`),
    );
    expect(withTool('vite', undefined)).toBe('vite');
  });
});
