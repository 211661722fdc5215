import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { serve } from '#test/host/support/commands.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execCommand } from '../../client/cli/commands/exec.ts';
import { helpOf, nearest } from '../../client/cli/run-command.ts';
import { COMMANDS } from '../../client/cli/commands.ts';
import { readDuration } from '../../client/cli/duration.ts';
import type { RunConfig } from '../../client/index.ts';
import { VERSION } from '../../client/version.ts';
import { porthole, startPorthole } from './support/porthole-command.ts';

const CLIENT = join(import.meta.dirname, '../../client');

describe('the command line', () => {
  let host: TestHost;
  let environment: Record<string, string>;
  let folder: string;
  let id: string;
  const run = (...words: string[]) => porthole(words, environment, { cwd: folder });

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    folder = await mkdtemp(join(tmpdir(), 'porthole-command-'));
    environment = {
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      PORTHOLE_API_KEY: ALICE,
      XDG_CACHE_HOME: join(folder, 'cache'),
      GREETING: 'hello',
    };
    const made = await run('create', '--name', 'try', '--tag', 'thread_id=1', '--env', 'GREETING', '--json');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    ({ id } = JSON.parse(made.stdout) as { id: string });
  });
  afterAll(async () => {
    await host.end();
    await rm(folder, { recursive: true });
  });

  test('lists what is there, for people and for programs', async () => {
    const { stdout } = await run('list');
    const [head, line] = stdout.split('\n');
    expect(head).toMatch(/^ID +NAME +STATE +AGE +IMAGE +TAGS$/);
    expect(line).toMatch(new RegExp(`^${id} +try +running +\\d+s +- +thread_id=1$`));
    const json = JSON.parse(
      (await run('list', '--tag', 'thread_id:1', '--state', 'running', '--json')).stdout,
    ) as unknown;
    expect(json).toMatchObject([{ id, name: 'try', tags: { thread_id: '1' } }]);
    expect(await run('list', '--tag', 'thread_id=2')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No sandbox matches.\n',
    });
    const search = async (...words: string[]) => (await run('list', '--json', ...words)).stdout;
    expect(JSON.parse(await search('--search', 'TR', '--since', '1h', '--sort', 'name'))).toMatchObject([
      { id },
    ]);
    expect(JSON.parse(await search('--search', 'other'))).toEqual([]);
    expect(await run('list', '--sort', 'age')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--sort must be one of newest, oldest, active, name, got "age".'),
    });
  });

  test('lists runs, for people and for programs', async () => {
    expect(await run('runs')).toEqual({ code: 0, stdout: '', stderr: 'No runs.\n' });
    const made = await host.call('POST', '/api/runs', {
      token: ALICE,
      body: { title: 'The checkout', sandbox_id: id },
    });
    const { run_id: runId } = made.json();
    const { stdout } = await run('runs', '--search', 'CHECK', '--status', 'running', '--sandbox', id);
    const [head, line] = stdout.split('\n');
    expect(head).toMatch(/^ID +STATUS +AGE +SANDBOX +OWNER +TITLE$/);
    expect(line).toMatch(new RegExp(`^${String(runId)} +running +\\d+s +${id} +alice +The checkout$`));
    expect(JSON.parse((await run('runs', '--tag', 'thread_id=1', '--json')).stdout)).toMatchObject([
      { run_id: runId },
    ]);
    expect(await run('runs', '--tag', 'thread_id=2')).toMatchObject({ stderr: 'No run matches.\n' });
    expect(await run('exec', String(runId), '--', 'echo', 'hi')).toMatchObject({ code: 0, stdout: 'hi\n' });
    await host.call('POST', `/api/runs/${String(runId)}/complete`, { token: ALICE });
  });

  test('shows and changes what a sandbox may reach', async () => {
    const changed = await run(
      'network',
      'try',
      '--network',
      'allowlist',
      '--allow',
      'api.example.com',
      '--no-ask',
    );
    const lines = 'Network: allowlist\nAllow:   api.example.com\nDeny:    -\nAsk:     no\n';
    expect(changed).toEqual({ code: 0, stdout: lines, stderr: '' });
    expect(await run('network', 'try')).toEqual({ code: 0, stdout: lines, stderr: '' });
    expect(JSON.parse((await run('network', 'try', '--json')).stdout)).toMatchObject({
      network: 'allowlist',
      attempts: [],
    });
    expect((await run('network', 'try', '--allow', '*')).code).toBe(1);
    const made = await run('create', '--network', 'packages', '--deny', 'registry.npmjs.org', '--json');
    const sandbox = JSON.parse(made.stdout) as { id: string };
    expect(sandbox).toMatchObject({ network: 'packages', deny: ['registry.npmjs.org'], ask: true });
    expect((await run('delete', sandbox.id)).code).toBe(0);
  });

  test('copies a file there and back, and shows a server and its log', async () => {
    await writeFile(join(folder, 'note.txt'), 'noted');
    expect((await run('cp', 'note.txt', 'try:docs/')).code).toBe(0);
    expect((await run('cp', 'try:docs/note.txt', 'back.txt')).code).toBe(0);
    expect(await readFile(join(folder, 'back.txt'), 'utf8')).toBe('noted');
    expect((await run('cp', 'a', 'b')).stderr).toContain('one of the two must be <sandbox>:<path>');
    const piped = await porthole(['cp', '-', 'try:docs/piped.txt'], environment, { stdin: 'through a pipe' });
    expect(piped.code).toBe(0);
    expect(await run('cp', 'try:docs/piped.txt', '-')).toEqual({
      code: 0,
      stdout: 'through a pipe',
      stderr: '',
    });
    expect((await run('cp', '-', 'try:docs/')).stderr).toContain('name the file for the standard input');
    expect((await run('cp', 'try:docs/piped.txt', '-', '--json')).code).toBe(2);
    const servers = `/v1/sandbox/${id}/servers/web`;
    const body = { command: 'echo listening; exec sleep 600' };
    await host.call('PUT', servers, { body, token: ALICE });
    const following = startPorthole(['logs', 'try', '-f', '--json'], environment);
    expect(await following.until('listening')).toContain('{"stream":"stdout","text":"listening\\n"}');
    following.child.kill('SIGINT');
    await following.outcome;
    expect((await run('ps', 'try')).stdout).toMatch(/^web +(?:ready|starting) +- +\d+s +/m);
    await host.call('DELETE', servers, { token: ALICE });
  });

  test('answers what the agent of a run asks for', async () => {
    const made = (await host.call('POST', '/api/runs', { token: ALICE })).json<{
      run_id: string;
      agent_token: string;
    }>();
    expect(await run('approve', made.run_id)).toEqual({
      code: 1,
      stdout: '',
      stderr: `porthole: Nothing waits for approval in ${made.run_id}.\n`,
    });
    const path = `/api/runs/${made.run_id}/sandbox/preview`;
    const asked = host.call('POST', path, { body: { target_port: 3000 }, token: made.agent_token });
    const following = startPorthole(['events', made.run_id, '--json'], environment);
    await following.until('tool.approval_required');
    following.child.kill('SIGINT');
    const { code, stdout } = await run('deny', made.run_id, '--reason', 'not now', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      { request_id: expect.any(String) as unknown, decision: 'denied' },
    ]);
    expect(await asked).toMatchObject({ status: 403, text: expect.stringContaining('not now') as unknown });
  });

  describe('of exec', () => {
    test('passes on both streams and the exit code', async () => {
      const script = 'echo "$GREETING"; echo err >&2; exit 7';
      expect(await run('exec', 'try', '--', 'sh', '-c', script)).toEqual({
        code: 7,
        stdout: 'hello\n',
        stderr: 'err\n',
      });
      const { code, stdout } = await run(
        'exec',
        id,
        '--json',
        '--cwd',
        '/workspace',
        '--',
        'sh',
        '-c',
        script,
      );
      expect([code, JSON.parse(stdout)]).toEqual([
        7,
        { exit_code: 7, stdout: 'hello\n', stderr: 'err\n', truncated: false },
      ]);
    });

    test('passes input on with -i', async () => {
      const words = ['exec', 'try', '-i', '--', 'sh', '-c', 'tr a-z A-Z; exit 4'];
      expect(await porthole(words, environment, { stdin: 'shout\n' })).toEqual({
        code: 4,
        stdout: 'SHOUT\n',
        stderr: '',
      });
    });

    test('leaves the words after -- alone', async () => {
      const { stdout } = await run('exec', 'try', '--', 'printf', '%s|', '--json', '-h', '--', 'a b');
      expect(stdout).toBe('--json|-h|--|a b|');
    });

    test('ends the command at Ctrl-C', async () => {
      const running = startPorthole(
        ['exec', 'try', '--', 'sh', '-c', 'echo up; exec sleep 4343'],
        environment,
      );
      await running.until('up\n');
      running.child.kill('SIGINT');
      expect(await running.outcome).toEqual({ code: 130, stdout: 'up\n', stderr: '' });
      const gone = 'until ! pgrep -f "sleep [4]343" >/dev/null; do sleep 0.05; done; echo gone';
      expect((await run('exec', 'try', '--timeout', '20', '--', 'sh', '-c', gone)).stdout).toBe('gone\n');
    });

    test('ends with its reader', async () => {
      const running = startPorthole(['exec', 'try', '--', 'yes'], environment);
      await running.until('y\n');
      running.child.stdout?.destroy();
      expect((await running.outcome).code).toBe(0);
    });
  });

  describe('of shell', () => {
    test('is a terminal, with its size, and ends with the code of the shell', async () => {
      const words = [
        '--disable-warning=ExperimentalWarning',
        join(CLIENT, 'bin.js'),
        'shell',
        'try',
        '--shell',
        'sh',
      ];
      const terminal = spawn(process.execPath, words, {
        cols: 90,
        rows: 20,
        env: { ...process.env, ...environment },
      });
      let shown = '';
      let look = (): void => undefined;
      const until = (text: string) =>
        new Promise<void>((resolve) => {
          look = () => (shown.includes(text) ? resolve() : undefined);
          look();
        });
      terminal.onData((text) => {
        shown += text;
        look();
      });
      const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
      await until('$ ');
      terminal.write('echo "size: $(stty size)"\r');
      await until('size: 20 90');
      terminal.resize(100, 40);
      terminal.write('until [ "$(stty size)" = "40 100" ]; do sleep 0.05; done; echo "now: $(stty size)"\r');
      await until('now: 40 100');
      // Ctrl-C goes to the program that runs there, once it does.
      terminal.write(`sh -c 'echo "up $((40 + 1))"; exec sleep 60'\r`);
      await until('up 41');
      terminal.write('\u0003');
      terminal.write('echo "still $((40 + 2))"\r');
      await until('still 42');
      terminal.write('exit 5\r');
      expect(await ended).toBe(5);
    });

    test('takes what is piped into it', async () => {
      const outcome = await porthole(['shell', 'try', '--shell', 'sh'], environment, {
        stdin: 'echo "sum $((1 + 2))"\nexit 4\n',
      });
      expect(outcome).toMatchObject({ code: 4, stdout: expect.stringContaining('sum 3'), stderr: '' });
    });
  });

  test('syncs a folder, and then what has changed', async () => {
    const here = join(folder, 'here');
    await mkdir(here);
    await writeFile(join(here, 'a'), 'a');
    await writeFile(join(here, 'b'), 'b');
    await writeFile(join(here, 'b.log'), 'b');
    expect(await run('sync', 'here', 'try:app', '--exclude', '*.log')).toEqual({
      code: 0,
      stdout: '2 sent, 0 removed, 0 unchanged\n',
      stderr: '',
    });
    await rm(join(here, 'a'));
    const { stdout } = await run('sync', 'here', 'try:app', '--exclude', '*.log', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ sent: 0, removed: 1, unchanged: 1 });
    expect((await run('exec', 'try', '--', 'ls', 'app')).stdout).toBe('b\n');
  });

  test('opens a preview, keeps it until Ctrl-C, and finds it again', async () => {
    await serve(host, id, 3000, 'through', ALICE);
    const running = startPorthole(['preview', 'try', '3000', '--stop'], environment);
    const url = (await running.until('\n')).trim();
    const { port, host: name } = new URL(url);
    expect(await call(Number(port), 'GET', '/', { host: name })).toMatchObject({
      status: 200,
      text: 'through',
    });
    expect(await run('preview', 'try', '3000', '--once')).toEqual({
      code: 0,
      stdout: `${url}\n`,
      stderr: '',
    });
    expect(await run('status', 'try')).toEqual({ code: 0, stdout: `3000 ${url}\n`, stderr: '' });
    expect(await run('doctor', 'try', '3000')).toMatchObject({ code: 0 });
    running.child.kill('SIGINT');
    expect(await running.outcome).toMatchObject({ code: 0, stderr: '' });
    expect(await run('status', 'try', '--json')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
    expect(await run('doctor', 'try', '3999')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Nothing listens'),
    });
  });

  test('shares a sandbox, lists its grants, and revokes one', async () => {
    const delegated = await run(
      'delegate',
      'try',
      '--scope',
      'exec',
      '--command',
      'echo',
      '--ttl',
      '10m',
      '--label',
      'me',
    );
    const { configurable } = JSON.parse(delegated.stdout) as RunConfig;
    const { sandbox_id: sandboxId, credential } = configurable.sandbox;
    expect(sandboxId).toBe(id);
    const [delegation = ''] = delegated.stderr.split(' ');
    expect((await run('delegate', 'try', '--list')).stdout).toMatch(
      new RegExp(`^${delegation} until .* me\n$`),
    );
    const execute = () =>
      host.call('POST', `/v1/sandbox/${id}/exec`, { token: credential, body: { argv: ['echo', 'hi'] } });
    expect((await execute()).status).toBe(200);
    expect((await run('delegate', 'try', '--revoke', delegation)).stdout).toBe(`${delegation} revoked\n`);
    expect((await execute()).status).toBe(401);
    expect((await run('delegate', 'try', '--scope', 'all')).stderr).toContain(
      'porthole: --scope must be one of fs:read, fs:write, exec, got "all".',
    );
  });

  test('shares a run, and prints how it is shared', async () => {
    const shared = await run('share', 'try', 'view');
    expect(shared).toMatchObject({ code: 0, stdout: expect.stringMatching(/^run_\w+ view\n$/) });
    const [runId = ''] = shared.stdout.split(' ');
    expect((await run('share', runId)).stdout).toBe(shared.stdout);
    expect(JSON.parse((await run('share', runId, 'private', '--json')).stdout)).toMatchObject({
      run_id: runId,
      sharing: 'private',
      access: 'owner',
    });
    expect(await run('share', runId, 'all')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('share it as private, view, work, got all.'),
    });
  });

  test('stops, resumes and deletes', async () => {
    const other = (await run('create', '--name', 'other')).stdout.trim();
    expect((await run('stop', 'other')).stdout).toBe(`${other} stopped\n`);
    expect((await run('resume', other)).stdout).toBe(`${other} running\n`);
    expect(await run('delete', 'other', 'missing')).toMatchObject({ code: 1, stdout: '' });
    expect((await run('delete', 'other', other, '--json')).stdout).toBe(`{"deleted":["${other}"]}\n`);
    expect(await run('delete', 'other')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'porthole: There is no sandbox with the id or name "other": list yours to see which there are.\n',
    });
  });

  test.each([
    ['no command', [], 2, 'porthole: sandboxes, and live previews of what runs in them'],
    [
      'a command that is not',
      ['lsit'],
      2,
      'porthole: there is no command "lsit". Did you mean list?\nSee porthole --help\n',
    ],
    [
      'something missing',
      ['exec'],
      2,
      'porthole: An argument is missing. Usage: porthole exec <sandbox> -- command…\nSee porthole exec --help\n',
    ],
    [
      'something too much',
      ['list', 'x'],
      2,
      'porthole: Unexpected argument "x". Usage: porthole list\nSee porthole list --help\n',
    ],
    [
      'a command without --',
      ['exec', 'try', 'echo', 'hi'],
      2,
      'porthole: Put "--" before the command: -- echo hi. Usage: porthole exec <sandbox> -- command…\n',
    ],
    ['a command that is missing', ['exec', 'try'], 2, 'porthole: the command is missing: put it after --'],
    ['an option that is not', ['list', '--all'], 2, "porthole: Unknown option '--all'.\n"],
    [
      'a key on the command line',
      ['list', '--api-key', 'k'],
      2,
      "porthole: Unknown option '--api-key': a key never goes on a command line",
    ],
    [
      'a bad time',
      ['create', '--ttl', 'soon'],
      2,
      'porthole: --ttl must be a time such as 90s, 30m, 2h or 1d, got "soon".\n',
    ],
    [
      'an unknown network mode',
      ['create', '--network', 'on'],
      2,
      'porthole: --network must be one of off, packages, allowlist, open, got "on".\n',
    ],
    [
      'a bad number',
      ['create', '--memory=-5'],
      2,
      'porthole: --memory must be a positive number, got "-5".\n',
    ],
    [
      'a sandbox beside a path',
      ['mv', 'try', 'a', 'b'],
      2,
      'porthole: Unexpected argument "b". Usage: porthole mv <sandbox>:<path> <path>\n',
    ],
    ['a bad tag', ['create', '--tag', 'x'], 2, 'porthole: --tag must be key=value, got "x".\n'],
    [
      'a value where none goes',
      ['delete', '--force=yes', 'try'],
      2,
      'porthole: --force takes no value, got "yes": leave that out.\n',
    ],
    [
      'another option where a value goes',
      ['delegate', 'try', '--revoke', '--list'],
      2,
      'porthole: --revoke needs a value, got "--list": write --revoke=VALUE.\n',
    ],
    [
      'the end where a value goes',
      ['delegate', 'try', '--revoke'],
      2,
      'porthole: --revoke needs a value, got nothing: write --revoke=VALUE.\n',
    ],
    [
      'an empty value',
      ['delegate', 'try', '--revoke='],
      2,
      'porthole: --revoke must be the id of a delegation, got "": --list names them.\n',
    ],
    [
      'names and a tag',
      ['delete', '--tag', 'a=1', 'try'],
      2,
      'porthole: name the sandboxes, or give one --tag: either, and not both, got --tag a=1 and try.\n',
    ],
    ['two tags to delete by', ['delete', '--tag', 'a=1', '--tag', 'b=2'], 2, '--tag may be given once only.'],
    [
      'a bad port',
      ['preview', 'try', 'http'],
      2,
      'porthole: a port is a whole number from 1 to 65535, got "http".\n',
    ],
    [
      'a port that is not allowed',
      ['preview', 'try', '80'],
      1,
      'porthole: preview port must be between 3000 and 9000, got 80',
    ],
    [
      'a folder that is not',
      ['sync', 'nowhere', 'try'],
      1,
      'porthole: nowhere is no folder: give one to sync.',
    ],
  ])('answers %s in words, with its exit code', async (_, words, code, stderr) => {
    expect(await run(...words)).toEqual({ code, stdout: '', stderr: expect.stringContaining(stderr) });
  });

  test('says what to do without a key, with a bad one, and where no server answers', async () => {
    const withKey = (key: string) => porthole(['list'], { ...environment, PORTHOLE_API_KEY: key });
    expect((await withKey('')).stderr).toBe('porthole: Unauthorized. Set PORTHOLE_API_KEY to your key.\n');
    const bad = await withKey('not-a-good-key');
    expect(bad).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'porthole: Unauthorized. PORTHOLE_API_KEY is invalid or expired. If it is the token of an agent, its run has ended: make a new run.\n',
    });
    const away = await porthole(['list', '--json'], { PORTHOLE_URL: 'http://127.0.0.1:9' });
    expect(JSON.parse(away.stderr)).toMatchObject({
      code: 'unreachable',
      error: expect.stringContaining('127.0.0.1:9'),
      remedy: 'See that it runs, and that PORTHOLE_URL is right.',
    });
  });

  test('helps, with each command, and tells its version', async () => {
    const { stdout } = await run('--help');
    for (const { name, summary } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`\\n  ${name} .*${summary}\\n`));
    expect((await run('exec', '--help')).stdout).toBe(helpOf(execCommand));
    for (const command of COMMANDS) {
      const help = helpOf(command);
      expect(help).toMatch(new RegExp(`^${command.summary}\n\nusage: porthole ${command.name}`));
      expect(Math.max(...help.split('\n').map(({ length }) => length))).toBeLessThan(180);
    }
    const { version } = JSON.parse(await readFile(join(CLIENT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(VERSION).toBe(version);
    expect((await run('--version')).stdout).toBe(`${version}\n`);
  });
});

test.each([
  ['lsit', 'list'],
  ['previw', 'preview'],
  ['prev', 'preview'],
  ['delet', 'delete'],
  ['x', undefined],
  ['frobnicate', undefined],
])('%s is taken for %s', (typed, meant) => {
  expect(
    nearest(
      typed,
      COMMANDS.map(({ name }) => name),
    ),
  ).toBe(meant);
});

test.each([
  ['90', 90],
  ['90s', 90],
  ['30m', 1_800],
  ['2h', 7_200],
  ['1d', 86_400],
])('%s are %i seconds', (text, seconds) => {
  expect(readDuration('ttl', text)).toBe(seconds);
});
