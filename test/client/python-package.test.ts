import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { PACKAGE, python, pythonMissing, typeCache, unpackWheel } from './support/python-environment.ts';

/** A module that hangs is ended, and shows its stacks, before jest gives up. */
const MAX_MODULE_MS = 290_000;
jest.setTimeout(MAX_MODULE_MS + 10_000);

suite('the Python package', pythonMissing, () => {
  let host: TestHost;
  let folder: string;
  let wheel: Readonly<Record<string, string>>;
  /** They run at the same time, with one wheel and one host. */
  let checks: Readonly<Record<'client' | 'langchain' | 'types', Promise<string>>>;

  /** Runs a module of Python with the built wheel; throws with what it printed. */
  async function module(name: string, args: readonly string[], cwd = PACKAGE): Promise<string> {
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      ...wheel,
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      PORTHOLE_API_KEY: ALICE,
    };
    try {
      return (await promisify(execFile)(python, ['-m', name, ...args], { cwd, env, timeout: MAX_MODULE_MS }))
        .stdout;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`python -m ${name}\n${stdout}\n${stderr}`, { cause: error });
    }
  }

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    folder = await mkdtemp(join(tmpdir(), 'porthole-python-'));
    wheel = await unpackWheel(folder);
    const pytest = (...tests: readonly string[]) =>
      module('pytest', ['-q', '-p', 'no:cacheprovider', '--rootdir', PACKAGE, ...tests]);
    const mypy = ['--config-file', join(PACKAGE, 'pyproject.toml'), '--cache-dir', typeCache];
    checks = {
      client: pytest('tests', '--ignore=tests/test_langchain.py'),
      langchain: pytest('tests/test_langchain.py'),
      types: module('mypy', [...mypy, '.', join(PACKAGE, 'tests')], join(folder, 'wheel')),
    };
    // A failure belongs to the test of its check, which may not have begun.
    for (const check of Object.values(checks)) check.catch(() => undefined);
  });
  afterAll(async () => {
    await Promise.allSettled(Object.values(checks ?? {}));
    await host?.end();
    await rm(folder, { recursive: true });
  });

  test('passes its tests in its wheel', async () => {
    // Only without a browser may the test of `check` be skipped.
    const passed = chromiumMissing === undefined ? /^\d+ passed(?!.*skipped)/m : /^\d+ passed/m;
    expect(await checks.client).toMatch(passed);
  });

  test("passes the sandbox suite of LangChain's tests in its wheel", async () => {
    expect(await checks.langchain).toMatch(/^\d+ passed(?!.*skipped)/m);
  });

  test('has types that mypy accepts, in the package and in its tests', async () => {
    expect(await checks.types).toMatch(/^Success: no issues found/);
  });
});
