import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { serve } from '#test/host/support/commands.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { readDuration } from '../../client/cli/read-values.ts';
import type { RunConfig } from '../../client/index.ts';
import { porthole, runPorthole, startPorthole } from './support/porthole-command.ts';

const CLIENT = join(import.meta.dirname, '../../client');

describe('the command line', () => {
  let host: TestHost;
  let environment: Record<string, string>;
  let folder: string;
  let id: string;
  /** In this process; `more` are words that contain spaces. */
  const run = (line: string, ...more: string[]) =>
    runPorthole([...line.split(' ').filter(Boolean), ...more], environment);
  const printed = async (line: string, ...more: string[]) => (await run(line, ...more)).stdout;
  const json = async (line: string): Promise<unknown> => JSON.parse(await printed(`${line} --json`));
  const runInFolder = (...words: string[]) => porthole(words, environment, { cwd: folder });

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    folder = await mkdtemp(join(tmpdir(), 'porthole-command-'));
    environment = {
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      PORTHOLE_API_KEY: ALICE,
      XDG_CACHE_HOME: join(folder, 'cache'),
      GREETING: 'hello',
    };
    const words = ['create', '--name', 'try', '--tag', 'thread_id=1', '--env', 'GREETING', '--json'];
    const made = await runInFolder(...words);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    ({ id } = JSON.parse(made.stdout) as { id: string });
  });
  afterAll(async () => {
    await host.end();
    await rm(folder, { recursive: true });
  });

  test('lists what is there, for people and for programs', async () => {
    const [head, line] = (await printed('list')).split('\n');
    expect(head).toMatch(/^ID +NAME +STATE +AGE +IMAGE +TAGS$/);
    expect(line).toMatch(new RegExp(`^${id} +try +running +\\d+s +default +thread_id=1$`));
    expect(await json('list --tag thread_id:1 --state running')).toMatchObject([
      { id, name: 'try', tags: { thread_id: '1' } },
    ]);
    expect(await run('approve')).toMatchObject({
      code: 1,
      stderr: 'porthole: Nothing waits for approval.\n',
    });
    const none = { code: 0, stdout: '', stderr: 'No sandbox matches.\n' };
    expect(await run('list --tag thread_id=2')).toEqual(none);
    expect(await json('list --search TR --since 1h --sort name')).toMatchObject([{ id }]);
    expect(await json('list --search other')).toEqual([]);
    expect(await run('list --sort age')).toMatchObject({
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
    const { run_id: runId } = made.json<{ run_id: string }>();
    const filters = `--search CHECK --status running --sandbox ${id}`;
    const [head, line] = (await printed(`runs ${filters}`)).split('\n');
    expect(head).toMatch(/^ID +STATUS +AGE +SANDBOX +OWNER +TITLE$/);
    expect(line).toMatch(new RegExp(`^${runId} +running +\\d+s +${id} +alice +The checkout$`));
    expect(await json('runs --tag thread_id=1')).toMatchObject([{ run_id: runId }]);
    const turned = { title: 'a\u202eb\u2066c\u200fd\u0085e', sandbox_id: id };
    const other = await host.call('POST', '/api/runs', { token: ALICE, body: turned });
    expect(await printed('runs')).toContain(' a?b?c?d?e\n');
    await host.call('POST', `/api/runs/${other.json<{ run_id: string }>().run_id}/complete`, {
      token: ALICE,
    });
    expect(await run('runs --tag thread_id=2')).toMatchObject({ stderr: 'No run matches.\n' });
    expect(await run(`exec ${runId} -- echo hi`)).toMatchObject({ code: 0, stdout: 'hi\n' });
    await host.call('POST', `/api/runs/${runId}/complete`, { token: ALICE });
  });

  test('shows and changes what a sandbox may reach', async () => {
    const changed = await run('network try --network allowlist --allow api.example.com --no-ask');
    const lines = 'Network: allowlist\nAllow:   api.example.com\nDeny:    -\nAsk:     no\n';
    expect(changed).toEqual({ code: 0, stdout: lines, stderr: '' });
    expect(await run('network try')).toEqual({ code: 0, stdout: lines, stderr: '' });
    expect(await json('network try')).toMatchObject({ network: 'allowlist', attempts: [] });
    expect((await run('network try --allow *')).code).toBe(1);
    const made = await json('create --network packages --deny registry.npmjs.org');
    expect(made).toMatchObject({ network: 'packages', deny: ['registry.npmjs.org'], ask: true });
    expect((await run(`delete ${(made as { id: string }).id}`)).code).toBe(0);
  });

  test('copies a file there and back, and shows a server and its log', async () => {
    await writeFile(join(folder, 'note.txt'), 'noted');
    expect((await runInFolder('cp', 'note.txt', 'try:docs/')).code).toBe(0);
    expect((await runInFolder('cp', 'try:docs/note.txt', 'back.txt')).code).toBe(0);
    expect(await readFile(join(folder, 'back.txt'), 'utf8')).toBe('noted');
    expect((await run('cp a b')).stderr).toContain('one of the two must be <sandbox>:<path>');
    const piped = await porthole(['cp', '-', 'try:docs/piped.txt'], environment, { stdin: 'through a pipe' });
    expect(piped.code).toBe(0);
    const back = { code: 0, stdout: 'through a pipe', stderr: '' };
    expect(await run('cp try:docs/piped.txt -')).toEqual(back);
    const large = 'x'.repeat(40_000_000);
    expect((await porthole(['cp', '-', 'try:large.bin'], environment, { stdin: large })).code).toBe(0);
    expect(await run('exec try -- stat -c %s large.bin')).toMatchObject({ stdout: '40000000\n' });
    expect((await run('cp - try:docs/')).stderr).toContain('name the file for the standard input');
    expect((await run('cp try:docs/piped.txt - --json')).code).toBe(2);
    const servers = `/v1/sandbox/${id}/servers/web`;
    const body = { command: 'echo listening; exec sleep 600' };
    await host.call('PUT', servers, { body, token: ALICE });
    const following = startPorthole(['logs', 'try', '-f', '--json'], environment);
    expect(await following.until('listening')).toContain('{"stream":"stdout","text":"listening\\n"}');
    following.child.kill('SIGINT');
    await following.outcome;
    expect(await printed('ps try')).toMatch(/^web +(?:ready|starting) +- +\d+s +/m);
    const start = { body: { command: 'echo worked', name: 'worker' }, token: ALICE };
    const started = await host.call('POST', `/v1/sandbox/${id}/processes`, start);
    const { id: process } = started.json<{ id: string }>();
    const log = { code: 0, stdout: 'worked\n', stderr: '' };
    expect(await run(`logs try ${process} -f`)).toEqual(log);
    expect(await run('logs try worker')).toEqual(log);
    expect((await run('logs try worker --tail 1')).stderr).toContain('--tail takes a server');
    const missing = 'There is no server or process "stall". There are: ';
    expect(await run('logs try stall')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`^porthole: ${missing}web, .*${process}.*\\.\n$`)),
    });
    await host.call('DELETE', servers, { token: ALICE });
    expect((await run('logs try')).stderr).toContain('name a server or a process. There are: ');
  });

  test('answers what the agent of a run asks for', async () => {
    const made = await host.call('POST', '/api/runs', { token: ALICE });
    const { run_id: runId, agent_token: token } = made.json<{ run_id: string; agent_token: string }>();
    expect(await run(`approve ${runId}`)).toEqual({
      code: 1,
      stdout: '',
      stderr: `porthole: Nothing waits for approval in ${runId}.\n`,
    });
    const none = { code: 0, stdout: '', stderr: 'Nothing waits for approval.\n' };
    expect(await run('approvals')).toEqual(none);
    const path = `/api/runs/${runId}/sandbox/preview`;
    const ask = (port: number) => host.call('POST', path, { body: { target_port: port }, token });
    const asked = ask(3000);
    const other = ask(3001);
    const following = startPorthole(['events', runId, '--json'], environment);
    await following.until('preview of port 3000');
    await following.until('preview of port 3001');
    following.child.kill('SIGINT');
    const listed = (await json(`approvals ${runId}`)) as { request_id: string; message: string }[];
    const of = (port: number) => listed.find(({ message }) => message.includes(`port ${port}`));
    const [first, second] = [of(3000), of(3001)];
    const [head, ...lines] = (await printed('approvals')).split('\n');
    expect(head).toMatch(/^ID +RUN +UNTIL +REQUEST$/);
    const row = lines.find((line) => line.startsWith(first?.request_id ?? '-')) ?? '';
    expect(row).toMatch(/^\S+ +run_\w+ +20[\d-]+T[\d:.]+Z +Open a live preview of port 3000\?/);
    for (const line of ['approve', `approve ${runId}`]) {
      const { code: wrong, stderr } = await run(line);
      expect([wrong, stderr]).toEqual([
        2,
        expect.stringContaining(`  ${runId} ${second?.request_id}  ${second?.message}\n`),
      ]);
    }
    expect(await run(`approve ${runId} ${second?.request_id}`)).toEqual({
      code: 0,
      stdout: `${second?.request_id} approved: ${second?.message}\n`,
      stderr: `porthole: ${second?.request_id} asks: ${second?.message}\n`,
    });
    const { code, stdout } = await run('deny --json --reason', 'not now');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      { request_id: first?.request_id, decision: 'denied', message: first?.message },
    ]);
    expect(await asked).toMatchObject({ status: 403, text: expect.stringContaining('not now') });
    expect((await other).status).toBe(200);
  });

  describe('of exec', () => {
    test('passes on both streams and the exit code', async () => {
      const script = 'echo "$GREETING"; echo err >&2; exit 7';
      expect(await runInFolder('exec', 'try', '--', 'sh', '-c', script)).toEqual({
        code: 7,
        stdout: 'hello\n',
        stderr: 'err\n',
      });
      const { code, stdout } = await run(`exec ${id} --json --cwd /workspace -- sh -c`, script);
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

    test('ends with 255 where Porthole itself fails', async () => {
      const failed = { code: 255, stdout: '' };
      expect(await run('exec nowhere -- true')).toMatchObject(failed);
      expect(await run('exec nowhere --json -- true')).toMatchObject(failed);
      expect(await run('shell nowhere')).toMatchObject(failed);
      const away = { ...environment, PORTHOLE_URL: 'http://127.0.0.1:9' };
      expect(await runPorthole(['exec', 'try', '--', 'true'], away)).toMatchObject(failed);
    });

    test('ends with 255 after a lost connection, and says that memory ran out', async () => {
      const exit = { code: null, signal: 'SIGKILL', reason: 'out_of_memory' };
      const server = createServer((request, response) => {
        const { method, url = '' } = request;
        if (/exec|output/.test(url)) response.setHeader('content-type', 'text/event-stream');
        if (url.endsWith('/exec')) {
          response.write('event: stdout\ndata: aGkK\n\n', () => response.destroy());
        } else if (url.includes('/output')) {
          response.end(`event: exit\nid: 0\ndata: ${JSON.stringify(exit)}\n\n`);
        } else response.end(method === 'DELETE' ? '' : JSON.stringify({ id, ttl_seconds: null }));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const there = { ...environment, PORTHOLE_URL: `http://127.0.0.1:${port}` };
      const lost = await runPorthole(['exec', id, '--', 'true'], there);
      expect(lost).toMatchObject({ code: 255, stderr: expect.stringContaining('was lost') });
      expect(await runPorthole(['exec', id, '-i', '--', 'true'], there)).toEqual({
        code: 137,
        stdout: '',
        stderr: 'porthole: the sandbox is out of memory, which ended the command.\n',
      });
      server.closeAllConnections();
      server.close();
    });

    test('leaves the words after -- alone', async () => {
      expect(await printed('exec try -- printf %s| --json -h --', 'a b')).toBe('--json|-h|--|a b|');
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
      expect(await printed('exec try --timeout 20 -- sh -c', gone)).toBe('gone\n');
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
    expect(await runInFolder('sync', 'here', 'try:app', '--exclude', '*.log')).toEqual({
      code: 0,
      stdout: '2 sent, 0 removed, 0 unchanged\n',
      stderr: '',
    });
    await rm(join(here, 'a'));
    const again = await runInFolder('sync', 'here', 'try:app', '--exclude', '*.log', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ sent: 0, removed: 1, unchanged: 1 });
    expect(await printed('exec try -- ls app')).toBe('b\n');
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
    expect(await run('preview try 3000 --once')).toEqual({ code: 0, stdout: `${url}\n`, stderr: '' });
    expect(await run('status try')).toEqual({ code: 0, stdout: `3000 ${url}\n`, stderr: '' });
    expect(await run('doctor try 3000')).toMatchObject({ code: 0 });
    running.child.kill('SIGINT');
    expect(await running.outcome).toMatchObject({ code: 0, stderr: '' });
    expect(await run('status try --json')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
    expect(await run('doctor try 3999')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Nothing listens'),
    });
  });

  test('shares a sandbox, lists its grants, and revokes one', async () => {
    const delegated = await run('delegate try --scope exec --command echo --ttl 10m --label me');
    const { configurable } = JSON.parse(delegated.stdout) as RunConfig;
    const { sandbox_id: sandboxId, credential } = configurable.sandbox;
    expect(sandboxId).toBe(id);
    const [delegation = ''] = delegated.stderr.split(' ');
    expect(await printed('delegate try --list')).toMatch(new RegExp(`^${delegation} until .* me\n$`));
    const execute = () =>
      host.call('POST', `/v1/sandbox/${id}/exec`, { token: credential, body: { argv: ['echo', 'hi'] } });
    expect((await execute()).status).toBe(200);
    expect(await printed(`delegate try --revoke ${delegation}`)).toBe(`${delegation} revoked\n`);
    expect((await execute()).status).toBe(401);
    expect((await run('delegate try --scope all')).stderr).toContain(
      'porthole: --scope must be one of fs:read, fs:write, exec, got "all".',
    );
  });

  test('shares a run, and prints how it is shared', async () => {
    const shared = await run('share try view');
    expect(shared).toMatchObject({ code: 0, stdout: expect.stringMatching(/^run_\w+ view\n$/) });
    const [runId = ''] = shared.stdout.split(' ');
    expect(await printed(`share ${runId}`)).toBe(shared.stdout);
    expect(await json(`share ${runId} private`)).toMatchObject({
      run_id: runId,
      sharing: 'private',
      access: 'owner',
    });
    expect(await run(`share ${runId} all`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('share it as private, view or work, got "all".'),
    });
  });

  test('stops, resumes and deletes', async () => {
    const other = (await printed('create --name other')).trim();
    expect((await run('preview other 3000 --once')).code).toBe(0);
    expect(await printed('stop other')).toBe(`${other} stopped\n`);
    expect((await run('preview other 3000 --once')).stderr).toContain(
      `sandbox ${other} is stopped. porthole resume ${other} starts it.\n`,
    );
    expect(await printed(`resume ${other}`)).toBe(`${other} running\n`);
    expect(await run('delete other missing')).toMatchObject({ code: 1, stdout: '' });
    expect(await printed(`delete other ${other} --json`)).toBe(`{"deleted":["${other}"]}\n`);
    expect(await run('delete other')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'porthole: There is no sandbox with the id or name "other": porthole list shows which there are.\n',
    });
  });

  const usage = (command: string, problem: string) => `${problem} Usage: porthole ${command}\n`;
  test.each([
    ['lsit', 'there is no command "lsit". Did you mean list?\nSee porthole --help\n'],
    ['foo', 'there is no command "foo". There are up, create, list'],
    ['exec', `${usage('exec <sandbox> -- command…', 'An argument is missing.')}See porthole exec --help\n`],
    ['list x', `${usage('list', 'Unexpected argument "x".')}See porthole list --help\n`],
    ['exec try echo hi', usage('exec <sandbox> -- command…', 'Put "--" before the command: -- echo hi.')],
    ['exec try', 'the command is missing: put it after --'],
    ['list --all', "Unknown option '--all'.\n"],
    ['list --api-key k', "Unknown option '--api-key': a key never goes on a command line"],
    ['create --ttl soon', '--ttl must be a time such as 90s, 30m, 2h or 1d, got "soon".\n'],
    ['create --timeout 0', '--timeout must be a time such as 90s, 30m, 2h or 1d, got "0".\n'],
    ['create --network on', '--network must be one of off, packages, allowlist, open, got "on".\n'],
    ['create --memory=-5', '--memory must be a positive number of at most nine digits, got "-5".\n'],
    ['mv try a b', usage('mv <sandbox>:<path> <path>', 'Unexpected argument "b".')],
    ['create --tag x', '--tag must be key=value, got "x".\n'],
    ['delete --force=yes try', '--force takes no value, got "yes": leave that out.\n'],
    ['delegate try --revoke --list', '--revoke needs a value, got "--list": write --revoke=VALUE.\n'],
    ['delegate try --revoke', '--revoke needs a value, got nothing: write --revoke=VALUE.\n'],
    ['delegate try --revoke=', '--revoke must be the id of a delegation, got "": --list names them.\n'],
    [
      'delete --tag a=1 try',
      'name the sandboxes, or give one --tag: either, and not both, got --tag a=1 and try.\n',
    ],
    ['delete --tag a=1 --tag b=2', '--tag may be given once only.'],
    ['preview try http', 'a port is a whole number from 1 to 65535, got "http".\n'],
  ])('explains the wrong usage porthole %s, and ends with 2', async (line, stderr) => {
    expect(await run(line)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`porthole: ${stderr}`),
    });
  });

  test.each([['preview try 80', 'preview port must be between 3000 and 9000, got 80']])(
    'explains why porthole %s fails, and ends with 1',
    async (line, stderr) => {
      expect(await run(line)).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`porthole: ${stderr}`),
      });
    },
  );

  test('says what to do without a key, with a bad one, and where no server answers', async () => {
    const withKey = (key: string) => runPorthole(['list'], { ...environment, PORTHOLE_API_KEY: key });
    expect((await withKey('')).stderr).toBe('porthole: Unauthorized. Set PORTHOLE_API_KEY to your key.\n');
    const bad = await withKey('not-a-good-key');
    expect(bad).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'porthole: Unauthorized. PORTHOLE_API_KEY is invalid or expired. If it is the token of an agent, its run has ended: make a new run.\n',
    });
    const away = await runPorthole(['list', '--json'], { PORTHOLE_URL: 'http://127.0.0.1:9' });
    expect(JSON.parse(away.stderr)).toMatchObject({
      code: 'unreachable',
      error: expect.stringContaining('127.0.0.1:9'),
      remedy: 'See that it runs, and that PORTHOLE_URL is right.',
    });
    const tls = await runPorthole(['list'], { PORTHOLE_URL: `https://127.0.0.1:${host.host.port}` });
    expect(tls.stderr).toContain('(the server there does not speak TLS: use http:// in PORTHOLE_URL)');
  });
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
