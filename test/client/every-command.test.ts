import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { startWebhookReceiver } from '#test/support/webhook-receiver.ts';
import { COMMANDS } from '../../client/cli/commands.ts';
import { expectedAfter } from '../../client/cli/commands/completion.ts';
import { execCommand } from '../../client/cli/commands/exec.ts';
import { helpOf, nearest } from '../../client/cli/run-command.ts';
import { Porthole } from '../../client/node/index.ts';
import { VERSION } from '../../client/version.ts';
import { porthole, runPorthole } from './support/porthole-command.ts';

const CLIENT = join(import.meta.dirname, '../../client');
const run = promisify(execFile);
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

let host: TestHost;
let folder: string;
let environment: Record<string, string>;
let sandboxId: string;
let runId: string;

beforeAll(async () => {
  host = await startTestHost();
  folder = await mkdtemp(join(tmpdir(), 'porthole-every-'));
  environment = {
    PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    PATH: [folder, process.env['PATH']].join(delimiter),
    HOME: folder,
  };
  await mkdir(join(folder, 'site'));
  await writeFile(join(folder, 'site', 'index.html'), 'hello');
  const command = join(folder, 'porthole');
  const main = join(CLIENT, 'bin.js');
  await writeFile(
    command,
    `#!/bin/sh\nexec '${process.execPath}' --disable-warning=ExperimentalWarning '${main}' "$@"\n`,
  );
  await chmod(command, 0o755);
  ({ id: sandboxId } = (await host.call('POST', '/v1/sandbox', { body: { name: 'try' } })).json<{
    id: string;
  }>());
  const made = await host.call('POST', '/api/runs', { body: { title: 'Checkout', sandbox_id: sandboxId } });
  ({ run_id: runId } = made.json<{ run_id: string }>());
  const body = { command: 'echo listening; exec python3 -m http.server 3000 --bind 127.0.0.1', port: 3000 };
  await host.call('PUT', `/v1/sandbox/${sandboxId}/servers/web`, { body });
  await host.call('GET', `/v1/sandbox/${sandboxId}/ports/3000/wait`);
});
afterAll(async () => {
  await host.end();
  await rm(folder, { recursive: true });
});

/** Each command, with arguments with which it prints something. */
const callsWith = (site: string): Readonly<Record<string, readonly string[]>> => ({
  up: [site],
  create: ['--name', 'other'],
  list: [],
  runs: [],
  exec: ['try', '--', 'echo', '{"not": "ours"'],
  shell: ['try', '--shell', 'sh'],
  sync: [site, 'try:site'],
  cp: [`${site}/index.html`, 'try:'],
  mv: ['try:index.html', 'moved.html'],
  ps: ['try'],
  logs: ['try', 'web'],
  events: ['try'],
  network: ['try'],
  preview: ['try', '3000', '--once'],
  open: ['try', '3000'],
  curl: ['try', '3000', '/'],
  status: ['try'],
  doctor: [],
  check: ['try', '4000'],
  look: ['try', '4000'],
  inbox: ['try', 'Hello'],
  approvals: [],
  approve: [],
  deny: [],
  share: ['try'],
  delegate: ['try'],
  checkpoint: ['try', 'first'],
  fork: ['try'],
  diff: ['try'],
  audit: [],
  webhooks: [],
  stop: ['other'],
  resume: ['other'],
  delete: ['other'],
  usage: [],
  completion: ['bash'],
});

describe('every command', () => {
  test('prints JSON with --json, an object a line', async () => {
    const calls = callsWith(join(folder, 'site'));
    expect(Object.keys(calls)).toEqual(COMMANDS.map(({ name }) => name));
    for (const [name, given] of Object.entries(calls)) {
      const words = [name, '--json', ...given];
      if (name === 'approve' || name === 'deny')
        words.push(runId, await askForPreview(name === 'deny' ? 3001 : 3002));
      // Only `up` starts another process: the one that follows the edits.
      const { stdout, stderr } = await (name === 'up'
        ? porthole(words, environment)
        : runPorthole(words, environment, { stdin: 'exit\n', untilLine: name === 'events' }));
      // `check` and `look` answer with an error, so that the test needs no browser.
      const lines = linesOf(['check', 'look'].includes(name) ? stderr : stdout);
      if (lines.length === 0) throw new Error(`${name} printed nothing there: ${stdout}${stderr}`);
      for (const line of lines) expect([name, typeof JSON.parse(line)]).toEqual([name, 'object']);
    }
  });

  test.each([
    [['up', 'nowhere']],
    [['sync', 'nowhere', 'try']],
    [['logs', './nowhere']],
    [['up', '/dev/null']],
  ])('ends with 2 without the folder of porthole %j', async (words) => {
    const stderr = expect.stringContaining('porthole: there is no folder "');
    expect(await runPorthole(words, environment)).toEqual({ code: 2, stdout: '', stderr });
  });

  test('prints the audit as OCSF events', async () => {
    const { stdout } = await runPorthole(['audit', '--format', 'ocsf', '--type', 'run.created'], environment);
    const [event = ''] = linesOf(stdout);
    expect(JSON.parse(event)).toMatchObject({ class_uid: 6003, metadata: { event_code: 'run.created' } });
  });

  test('prints the last of the audit, as audit alone has them', async () => {
    const audit = async (...words: string[]) =>
      linesOf((await runPorthole(['audit', ...words], environment)).stdout);
    const last = await audit('--last', '2');
    expect(last).toHaveLength(2);
    expect((await audit()).join('\n')).toContain(last.join('\n'));
    const [event = ''] = (await audit('--last', '1', '--format', 'ocsf')).slice(-1);
    expect(last.at(-1)).toMatch(
      `${(JSON.parse(event) as { metadata: { sequence: number } }).metadata.sequence} `,
    );
    expect(await runPorthole(['audit', '--last', 'two'], environment)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--last must be a number from 1 to 10000, got "two".'),
    });
  });

  test('makes a webhook, tests it, and shows what it delivered', async () => {
    const receiver = await startWebhookReceiver();
    const hook = (...words: string[]) => runPorthole(['webhooks', ...words], environment);
    try {
      const made = await hook('create', receiver.url, '--event', 'run.*', '--event', 'preview.opened');
      const [id = '', secret = ''] = linesOf(made.stdout);
      expect([id, secret]).toEqual([expect.stringMatching(/^whk_/), expect.stringMatching(/^whsec_/)]);
      const [, row = ''] = linesOf((await hook()).stdout);
      expect(row.split(/ +/)).toEqual([id, 'active', 'own', 'run.*,preview.opened', receiver.url]);
      expect((await hook('test', id)).stdout).toBe(`${id} gets a test event\n`);
      await receiver.until(1);
      const [, delivered = ''] = linesOf((await hook('deliveries', id)).stdout);
      const [delivery = '', , type] = delivered.split(/ +/);
      expect([delivery, type]).toEqual([expect.stringMatching(/^whd_/), 'webhook.test']);
      expect((await hook('redeliver', id, delivery)).stdout).toBe(`${delivery} waiting\n`);
      const messages = await receiver.until(2);
      expect(new Set(messages.map(({ event }) => event.id)).size).toBe(1);
      const [, next = ''] = linesOf((await hook('rotate', id)).stdout);
      expect([next.startsWith('whsec_'), next === secret]).toEqual([true, false]);
      expect((await hook('enable', id)).stdout).toBe(`${id} active\n`);
      expect((await hook('delete', id)).stdout).toBe(`${id} deleted\n`);
      expect(await hook()).toEqual({ code: 0, stdout: '', stderr: 'No webhooks.\n' });
    } finally {
      await receiver.close();
    }
  });

  test.each([
    [['explode'], 'webhooks does list, create,'],
    [['create', 'https://example.com/'], 'name an event'],
    [['create', '--event', '*'], 'name a URL'],
    [['redeliver', 'whk_1'], 'name a delivery'],
  ])('ends with 2 on porthole webhooks %j', async (words, message) => {
    const stderr = expect.stringContaining(message);
    expect(await runPorthole(['webhooks', ...words], environment)).toEqual({ code: 2, stdout: '', stderr });
  });

  test('says that an inbox is empty', async () => {
    const inboxOf = (...more: string[]) => runPorthole(['inbox', 'empty', ...more], environment);
    await host.call('POST', '/v1/sandbox', { body: { name: 'empty' } });
    expect(await inboxOf()).toEqual({ code: 0, stdout: '', stderr: 'No messages.\n' });
    expect(await inboxOf('--unread')).toMatchObject({ stderr: 'No new messages.\n' });
    expect(await inboxOf('--json')).toMatchObject({ stdout: '[]\n' });
  });

  test('ends a shell without input with an error, and one with a program that reads to the end', async () => {
    const none = await porthole(['shell', 'try', '--json'], environment, { stdin: '' });
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('the standard input is empty') });
    const read = await porthole(['shell', 'try'], environment, { stdin: 'cat\nline\n' });
    expect(read).toMatchObject({ code: 0, stderr: '' });
  });

  test('prints its errors as JSON with --json', async () => {
    for (const { name } of COMMANDS) {
      const { code, stderr } = await runPorthole([name, '--json', '--nonsense'], environment);
      expect([name, code]).toEqual([name, 2]);
      expect(JSON.parse(stderr)).toMatchObject({
        code: 'usage',
        error: expect.stringContaining('--nonsense'),
      });
    }
  });

  test('helps, with each command, and tells its version', async () => {
    const printed = async (...words: string[]) => (await runPorthole(words, environment)).stdout;
    const stdout = await printed('--help');
    expect(await runPorthole([], environment)).toEqual({ code: 2, stdout: '', stderr: stdout });
    for (const { name, summary } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`\\n  ${name} .*${summary}\\n`));
    expect(await printed('exec', '--help')).toBe(helpOf(execCommand));
    for (const command of COMMANDS) {
      const help = helpOf(command);
      expect(help).toMatch(new RegExp(`^${command.summary}\n\nusage: porthole ${command.name}`));
      expect(Math.max(...help.split('\n').map(({ length }) => length))).toBeLessThan(180);
    }
    const { version } = JSON.parse(await readFile(join(CLIENT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(VERSION).toBe(version);
    expect(await printed('--version')).toBe(`${version}\n`);
  });

  /** The id of a request that waits for approval. */
  async function askForPreview(port: number): Promise<string> {
    const fresh = await host.call('POST', `/api/runs/${runId}/agent-token`);
    const { agent_token: token } = fresh.json<{ agent_token: string }>();
    const path = `/api/runs/${runId}/sandbox/preview`;
    void host.call('POST', path, { body: { target_port: port }, token });
    const made = await new Porthole({ url: environment['PORTHOLE_URL'] }).run(runId);
    for await (const _ of made.events()) {
      const [first] = await made.approvals();
      if (first !== undefined) return first.request_id;
    }
    throw new Error('The run ended before it asked for approval.');
  }
});

describe('completion', () => {
  const words = (...typed: string[]): readonly string[] => {
    const expected = expectedAfter(typed, COMMANDS);
    return 'words' in expected
      ? expected.words.map(([word]) => word)
      : expected.names.map((name) => `<${name}>`);
  };

  test.each([
    [['pre'], ['up', 'preview', 'completion', 'help']],
    [
      ['help', ''],
      ['up', 'delete'],
    ],
    [
      ['up', '--'],
      ['--port', '--keep', '--json', '--help'],
    ],
    [
      ['network', 'try', '--network', ''],
      ['off', 'packages', 'allowlist', 'open'],
    ],
    [
      ['list', '--state', ''],
      ['creating', 'running', 'stopped'],
    ],
    [['runs', '--sandbox', ''], ['<sandbox>']],
    [
      ['ps', ''],
      ['<sandbox>', '<run>'],
    ],
    [['preview', 'try', ''], ['<port>']],
    [
      ['logs', '-f', 'try', ''],
      ['<server>', '<process>'],
    ],
    [['approvals', ''], ['<run>']],
    [['approve', 'run_1', ''], ['<request>']],
    [['delete', 'a', 'b', ''], ['<sandbox>']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('offers after %j among others %j', (typed, expected) => {
    expect(words(...typed)).toEqual(expect.arrayContaining(expected));
  });

  test.each([[['exec', 'try', '--', 'l']], [['stop', 'try', '']], [['nonsense', '']]])(
    'offers nothing after %j',
    (typed) => {
      expect(words(...typed)).toEqual([]);
    },
  );

  test('completes in bash, also names and ids of the server', async () => {
    const lines = [
      'approve',
      'ps tr',
      'ps run_',
      'up --network = pa',
      'preview try 30',
      'logs try w',
      'cp tr',
    ];
    const script = `source <(porthole completion bash)
for line; do
  COMP_WORDS=(porthole $line); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _porthole 2>/dev/null
  printf '%s\\n' "\${COMPREPLY[*]}"
done`;
    const { stdout } = await run('bash', ['-c', script, 'bash', ...lines], { env: environment });
    expect(linesOf(stdout)).toEqual([
      'approve',
      'try',
      expect.stringContaining(runId),
      'packages',
      '3000',
      'web',
      'try:',
    ]);
  });

  const missing = (shell: string) =>
    process.env['PATH']?.split(delimiter).some((path) => existsSync(join(path, shell))) === true
      ? undefined
      : `${shell} is not installed (apt-get install ${shell})`;

  suite('in zsh', missing('zsh'), () => {
    test('completes with the meaning of each word', async () => {
      const script = `source <(porthole completion zsh)
_describe() { print -rl -- "\${(@P)2}" }
_files() { print files }
words=("$@"); CURRENT=$#; _porthole`;
      const complete = async (...typed: string[]) =>
        linesOf(
          (await run('zsh', ['-f', '-c', script, 'zsh', 'porthole', ...typed], { env: environment })).stdout,
        );
      expect(await complete('approve')).toEqual([
        expect.stringMatching(/^approve:approve a request of the agent/),
      ]);
      expect(await complete('ps', 'tr')).toEqual(['try:running']);
      expect(await complete('cp', 'tr')).toEqual(['try\\::running']);
      expect(await complete('up', '--network=pa')).toEqual(['--network=packages:']);
      expect(await complete('up', './si')).toEqual(['files']);
    });
  });

  suite('in fish', missing('fish'), () => {
    test('completes with the meaning of each word', async () => {
      const complete = async (line: string) => {
        const script = 'porthole completion fish | source; complete -C $argv[1]';
        return linesOf(
          (await run('fish', ['-N', '-c', script, line], { cwd: folder, env: environment })).stdout,
        );
      };
      expect(await complete('porthole approve')).toEqual([
        expect.stringMatching(/^approve\tapprove a request of the agent/),
      ]);
      expect(await complete('porthole ps tr')).toEqual(['try\trunning']);
      expect(await complete('porthole up --network=pa')).toEqual(['--network=packages']);
      expect(await complete('porthole up ./si')).toEqual([expect.stringContaining('./site/')]);
    });
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
