import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { PACKAGE, python, pythonMissing, typeCache } from './support/python-environment.ts';

/** A module that hangs is ended, and shows its stacks, before jest gives up. */
const MOST_MS = 110_000;

/** Only without a browser may the test of `check` be skipped. */
const passed = chromiumMissing === undefined ? /^\d+ passed(?!.*skipped)/m : /^\d+ passed/m;

suite('the Python package', pythonMissing, () => {
  let host: TestHost;
  let folder: string;

  /** Runs a module of Python with the built wheel; throws with what it printed. */
  async function module(name: string, args: readonly string[], cwd = PACKAGE): Promise<string> {
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      PYTHONPATH: join(folder, 'wheel'),
      PYTHONDONTWRITEBYTECODE: '1',
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      PORTHOLE_API_KEY: ALICE,
    };
    try {
      return (await promisify(execFile)(python, ['-m', name, ...args], { cwd, env, timeout: MOST_MS }))
        .stdout;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`python -m ${name}\n${stdout}\n${stderr}`, { cause: error });
    }
  }

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    folder = await mkdtemp(join(tmpdir(), 'porthole-python-'));
    await module('build', ['--wheel', '--no-isolation', '--outdir', folder]);
    const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl')) ?? '';
    await module('zipfile', ['-e', join(folder, wheel), join(folder, 'wheel')]);
  });
  afterAll(async () => {
    await host.end();
    await rm(folder, { recursive: true });
  });

  test.each([
    ['its tests', ['tests', '--ignore=tests/test_langchain.py']],
    ["the sandbox suite of LangChain's tests", ['tests/test_langchain.py']],
  ])(
    'passes %s in its wheel',
    async (_what, tests) => {
      const args = ['-q', '-p', 'no:cacheprovider', '--rootdir', PACKAGE, ...tests];
      expect(await module('pytest', args)).toMatch(passed);
    },
    MOST_MS + 10_000,
  );

  test('has types that mypy accepts, in the package and in its tests', async () => {
    const args = ['--config-file', join(PACKAGE, 'pyproject.toml'), '--cache-dir', typeCache];
    const checked = await module('mypy', [...args, '.', join(PACKAGE, 'tests')], join(folder, 'wheel'));
    expect(checked).toMatch(/^Success: no issues found/);
  });
});
