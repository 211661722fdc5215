/** Each adapter, with its framework's own packages, in a program like a user's. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LOOPBACK_ONLY } from '#test/guides/guided-run.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { integrationProject, integrationsMissing, ROOT, writeProgram } from './integration-packages.ts';

jest.setTimeout(180_000);

const PROGRAMS = join(import.meta.dirname, 'programs');
const run = promisify(execFile);

suite('an adapter of an agent framework', integrationsMissing, () => {
  let porthole: TestHost;
  let folder: string;
  let project: string;

  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    folder = await mkdtemp(join(tmpdir(), 'porthole-integrations-'));
    project = await integrationProject(folder);
  });
  afterAll(async () => {
    await porthole.end();
    await rm(folder, { recursive: true });
  });

  const env = () => ({
    PATH: process.env['PATH'],
    ...LOOPBACK_ONLY,
    PORTHOLE_URL: porthole.host.url,
    PORTHOLE_API_KEY: ALICE,
  });
  const runFile = async (file: string): Promise<string> => {
    const options = { cwd: project, env: env(), timeout: 120_000 };
    return (await run(process.execPath, ['--disable-warning=ExperimentalWarning', file], options)).stdout;
  };
  const program = async (name: string): Promise<unknown> => {
    const code = await readFile(join(PROGRAMS, `${name}.ts`), 'utf8');
    return JSON.parse(await runFile(await writeProgram(project, `${name}.ts`, code)));
  };

  test('runs the programs of its page', async () => {
    const page = await readFile(join(ROOT, 'integrations/README.md'), 'utf8');
    const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    const outputs: string[] = [];
    for (const block of blocks) outputs.push(await runFile(await writeProgram(project, 'page.ts', block)));
    expect(outputs).toEqual([
      expect.stringMatching(/^index\.html\nhttp:\/\/[^/]+-preview\.localhost:\d+\n$/),
      'ready\n\n',
    ]);
  });

  test('has the types of its framework, and no fault that the linter finds', async () => {
    const sources = join(project, 'integrations');
    for (const file of await readdir(join(ROOT, 'integrations'))) {
      if (file.endsWith('.ts')) await cp(join(ROOT, 'integrations', file), join(sources, file));
    }
    const settings = await readFile(join(ROOT, 'integrations/tsconfig.json'), 'utf8');
    await writeFile(
      join(sources, 'tsconfig.json'),
      settings.replace('"../tsconfig.json"', JSON.stringify(join(ROOT, 'tsconfig.json'))),
    );
    // `npm run check` leaves the folder out: the frameworks are not among its packages.
    const rules = JSON.parse(await readFile(join(ROOT, '.oxlintrc.json'), 'utf8')) as object;
    const rulesFile = join(project, 'oxlint.json');
    await writeFile(rulesFile, JSON.stringify({ ...rules, ignorePatterns: [] }));
    const modules = join(ROOT, 'node_modules');
    const output = (...command: readonly string[]) =>
      run(process.execPath, command, { cwd: project }).then(
        ({ stdout }) => stdout,
        (error: { readonly stdout: string }) => error.stdout,
      );
    const lint = [join(modules, 'oxlint/bin/oxlint'), '--type-aware', '--config', rulesFile, 'integrations'];
    expect(await output(...lint)).toContain('Found 0 warnings and 0 errors.');
    await cp(PROGRAMS, join(sources, 'programs'), { recursive: true });
    const tsc = join(modules, 'native-typescript/bin/tsc');
    expect(await output(tsc, '--project', 'integrations', '--noEmit')).toBe('');
  });

  test('runs the tools of bash-tool', async () => {
    expect(await program('bash-tool')).toEqual({
      both: { stdout: 'first\nzweite Zeile: ü\n', stderr: '', exitCode: 0 },
      bashOnly: { stdout: 'yes\n', stderr: '', exitCode: 0 },
      failed: { stdout: 'out\n', stderr: 'err\n', exitCode: 3 },
      read: { content: 'zweite Zeile: ü\n' },
      missing: expect.stringContaining('/workspace/none'),
    });
  });

  test('is a backend of Deep Agents', async () => {
    expect(await program('deepagents')).toEqual({
      order: { output: 'out\nerr\nout\n', exitCode: 3, truncated: false },
      timed: 124,
      cut: [1_048_576, true],
      uploaded: [null, null, 'invalid_path', 'is_directory'],
      downloaded: [
        [3_000_000, null],
        [null, 'file_not_found'],
        [null, 'is_directory'],
      ],
      same: true,
      edited: null,
      read: expect.stringContaining('three'),
      found: [['/workspace/notes/b.txt', 2]],
      listed: ['/workspace/notes/b.txt'],
    });
  });

  test('is a provider of ComputeSDK', async () => {
    expect(await program('computesdk')).toEqual({
      variables: ["1 it's $2\n/tmp/a folder\n", 'no\n', 3],
      timed: ['begun\n', '', 124],
      streamed: ['one\n', 'two\n', 0],
      chunks: 'one\n',
      background: ['', '', 0],
      afterIt: ['done\n', '', 0],
      listed: [['it is.txt', 'file', 8]],
      read: 'kept: ü',
      again: 'b',
      info: ['running', { purpose: 'test' }, expect.any(Number), true],
      missing: 'Cannot read "/none": file not found.',
      unsupported: 'Porthole has no equivalent of the option "runtime": leave it out.',
      url: expect.stringMatching(/^http:\/\/[^/]+-preview\.localhost:\d+$/),
      secure: 'wss',
      removed: true,
      gone: null,
    });
  });

  test('is a sandbox of TanStack AI', async () => {
    expect(await program('tanstack')).toEqual({
      setup: 'ready\n',
      bytes: [0, 255],
      events: [{ n: 1 }, { line: 'input' }],
      texts: { stdout: 'to the process\n', stderr: '1\n' },
      exits: [0, 130, 137],
      stopped: 'AbortError',
      ended: 'none\n',
      git: 'trunk',
      outside: expect.stringContaining('within /workspace'),
      snapshot: 'UnsupportedCapabilityError',
      forked: [true, 'ready\n'],
      resumed: true,
      gone: [null, null],
    });
  });
});
