/** `porthole` in a sandbox, against a server with answers defined here. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { agentAccess } from '#core/runs/find-run.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJydW4iOiJydW5fMSJ9.c2lnbmF0dXJl';
const URL = 'http://swift-falcon-amber-aaaaaaaaaaaaaaaaaaaaaaaaaa-preview.localhost:8787';
const LIVE = {
  session_id: 'swift-falcon-amber-aaaaaaaaaaaaaaaaaaaaaaaaaa',
  local_port: 0,
  target_port: 3000,
  pod_name: 'p',
  preview_url: URL,
  previewUrl: URL,
  ready: true,
};
const LOOPBACK = {
  ...LIVE,
  session_id: 'other-one',
  local_port: 40_001,
  target_port: 4000,
  preview_url: null,
  previewUrl: null,
};

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const COMMAND = join(import.meta.dirname, '../../guest/porthole.ts');

describe('porthole in a sandbox', () => {
  let folder: string;
  let home: string;
  let server: Server;
  let asked: {
    line: string;
    authorization: string | undefined;
    type: string | undefined;
    body: string;
  }[];
  let answer: (req: IncomingMessage, res: ServerResponse) => void;
  const json = (status: number, value: unknown) => (_req: IncomingMessage, res: ServerResponse) => {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify(value));
  };
  const provisionAccess = (runId: string, socket: string) =>
    writeFileSync(
      join(home, '.porthole/runs', runId),
      agentAccess({ runId, agentToken: TOKEN, address: { kind: 'socket', path: socket } }),
    );
  const porthole = (args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> =>
    new Promise((resolve) => {
      execFile(
        process.execPath,
        [COMMAND, ...args],
        {
          env: {
            PATH: process.env['PATH'],
            HOME: home,
            http_proxy: 'http://127.0.0.1:1',
            ...COMPILE_CACHE,
            ...env,
          },
        },
        (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });

  beforeAll(async () => {
    // Longer than a socket's address may be.
    folder = mkdtempSync(join(tmpdir(), `porthole-command-${'x'.repeat(80)}`));
    home = join(folder, 'home');
    mkdirSync(join(home, '.porthole/runs'), { recursive: true });
    server = createServer((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => (body += chunk.toString()));
      req.once('end', () => {
        const { authorization, 'content-type': type } = req.headers;
        asked.push({ line: `${req.method} ${req.url}`, authorization, type, body });
        answer(req, res);
      });
    });
    const before = process.cwd();
    process.chdir(folder);
    await new Promise<void>((resolve) => server.listen('porthole.sock', resolve));
    process.chdir(before);
  });
  beforeEach(() => {
    asked = [];
    answer = json(500, {});
    rmSync(join(home, '.porthole/runs'), { recursive: true });
    mkdirSync(join(home, '.porthole/runs'));
    provisionAccess('run_1', join(folder, 'porthole.sock'));
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  test('asks with the run’s token, and prints the URL', async () => {
    answer = json(200, LIVE);
    expect(await porthole(['preview', '3000'])).toEqual({ code: 0, stdout: `${URL}\n`, stderr: '' });
    expect(asked.map(({ body, ...rest }) => ({ ...rest, body: JSON.parse(body) as unknown }))).toEqual([
      {
        line: 'POST /api/runs/run_1/sandbox/preview',
        authorization: `Bearer ${TOKEN}`,
        type: 'application/json',
        body: { target_port: 3000 },
      },
    ]);
  });

  test('asks for a link, and prints it', async () => {
    const url = 'https://porthole.test/open?preview=preview-1#lnk_1.secret';
    answer = json(201, { id: 'lnk_1', url });
    const options = ['--label', 'carol', '--level', 'org', '--expires', '12h', '--uses', '5', '--may-wake'];
    expect(await porthole(['share', '3000', ...options])).toEqual({
      code: 0,
      stdout: `${url}\n`,
      stderr: '',
    });
    await porthole(['share', '3000']);
    expect(asked.map(({ line, body }) => [line, JSON.parse(body) as unknown])).toEqual([
      [
        'POST /api/runs/run_1/previews/3000/share',
        { label: 'carol', level: 'org', expires_in: 43_200, max_uses: 5, may_wake: true },
      ],
      ['POST /api/runs/run_1/previews/3000/share', { label: 'porthole share' }],
    ]);
    answer = json(403, { error: 'Denied: not him.', code: 'approval_denied' });
    expect(await porthole(['share', '3000'])).toEqual({
      code: 3,
      stdout: '',
      stderr: 'porthole: Denied: not him.\n',
    });
  });

  test('prints what a server that failed printed last', async () => {
    const log = ['Error: no such module', '  at app.js:1'];
    answer = json(200, { ...LIVE, ready: false, reason: 'server_failed', server: 'web', log });
    expect(await porthole(['preview', '3000'])).toEqual({
      code: 0,
      stdout: `${URL}\n`,
      stderr: `porthole: the preview is live, but server web failed. It printed last:\n${log.join('\n')}\n`,
    });
  });

  test('prints the loopback address where previews have no URL', async () => {
    answer = json(200, LOOPBACK);
    expect((await porthole(['preview', '4000'])).stdout).toBe('http://preview-40001.localhost:40001/\n');
  });

  test('says what the doctor says when the server does not show', async () => {
    answer = (req, res) => {
      const advice = 'Nothing listens on port 3000: start it with "npm run dev".';
      const body =
        req.method === 'POST'
          ? { ...LIVE, ready: false, reason: 'nothing_listens' }
          : { advice: 'x', ports: [{ advice }] };
      json(200, body)(req, res);
    };
    expect(await porthole(['preview', '3000'])).toEqual({
      code: 0,
      stdout: `${URL}\n`,
      stderr:
        'porthole: the preview is live, but does not show the server yet. Nothing listens on port 3000: start it with "npm run dev".\n',
    });
    expect(asked[1]?.line).toBe('GET /api/runs/run_1/sandbox/doctor?port=3000');
  });

  test.each([
    [3, 403, 'approval_denied', 'A person denied it: "not \\ now".'],
    [4, 403, 'approval_timed_out', 'No decision was made.'],
    [1, 400, 'port_out_of_range', 'preview port must be between 3000 and 9000, got 22.'],
    [1, 401, 'unauthorized', 'Unauthorized'],
    [1, 429, 'too_many_previews', 'Too many.'],
  ])('exits %d when it is refused with %d %s, and says why', async (code, status, name, error) => {
    answer = json(status, { error, code: name });
    expect(await porthole(['preview', '3000'])).toEqual({
      code,
      stdout: '',
      stderr: `porthole: ${error}\n`,
    });
  });

  test('asks again when Porthole goes away in the middle, and when it is busy for a moment', async () => {
    answer = (req, res) => {
      if (asked.length === 1) req.socket.destroy();
      else if (asked.length === 2) json(503, { error: 'busy', code: 'service_unavailable' })(req, res);
      else if (asked.length === 3) json(504, { message: 'Endpoint request timed out' })(req, res);
      else json(200, LIVE)(req, res);
    };
    expect(await porthole(['preview', '3000'])).toEqual({ code: 0, stdout: `${URL}\n`, stderr: '' });
    expect(asked).toHaveLength(4);
  });

  test('stops a preview, and lists those that are live', async () => {
    answer = (req, res) => json(200, req.method === 'GET' ? [LIVE, LOOPBACK] : { stopped: true })(req, res);
    expect(await porthole(['status'])).toEqual({
      code: 0,
      stdout: `3000 ${URL}\n4000 http://preview-40001.localhost:40001/\n`,
      stderr: '',
    });
    expect(await porthole(['stop', '4000'])).toEqual({
      code: 0,
      stdout: 'The preview of port 4000 is stopped.\n',
      stderr: '',
    });
    expect(asked.at(-1)?.line).toBe('DELETE /api/runs/run_1/sandbox/port-forward/other-one');
    expect(await porthole(['stop', '5000'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^porthole: port 5000 has no live preview\./),
    });
    answer = json(200, []);
    expect(await porthole(['status'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('says what the doctor says, and exits by it', async () => {
    answer = json(200, { advice: 'It works.', ports: [{ ready: true, advice: 'It works.' }] });
    expect(await porthole(['doctor', '3000'])).toEqual({ code: 0, stdout: 'It works.\n', stderr: '' });
    answer = json(200, { advice: 'No.', ports: [{ ready: false, advice: 'No.' }] });
    expect(await porthole(['doctor', '3000'])).toEqual({ code: 1, stdout: 'No.\n', stderr: '' });
  });

  test.each([
    ['works', 0, 'works', []],
    [
      'broken',
      1,
      'broken: Uncaught Error (app.js:2)',
      [{ message: 'GET /api answered 500', file: 'app.js', line: 2 }],
    ],
    ['unclear', 2, 'unclear: GET /api answered 404.', []],
  ] as const)('says that a page is %s, and exits %d', async (result, code, summary, others) => {
    answer = json(200, {
      result,
      summary,
      causes: [{ message: 'first', file: null, line: null }, ...others],
    });
    const more = others.length === 0 ? '' : '  also: GET /api answered 500 (app.js:2)\n';
    expect(await porthole(['check', '3000', '--path', '/login', '--wait', '30'])).toEqual({
      code,
      stdout: `${summary}\n${more}`,
      stderr: '',
    });
    expect([asked[0]?.line, JSON.parse(asked[0]?.body ?? '')]).toEqual([
      'POST /api/runs/run_1/previews/3000/check',
      { path: '/login', wait_for_change: 30 },
    ]);
  });

  test('writes the picture of a page, or prints its outline', async () => {
    const seen = { result: 'works', summary: 'works', causes: [], outline: '- heading "Shop"' };
    answer = json(200, { ...seen, screenshot: { data: Buffer.from('picture').toString('base64') } });
    expect(await porthole(['look', '3000'])).toMatchObject({ code: 0, stdout: 'works\n- heading "Shop"\n' });
    const out = join(folder, 'page.png');
    expect(await porthole(['look', '3000', '--out', out, '--full-page'])).toEqual({
      code: 0,
      stdout: 'works\n',
      stderr: '',
    });
    expect(readFileSync(out, 'utf8')).toBe('picture');
    expect(JSON.parse(asked.at(-1)?.body ?? '')).toEqual({ full_page: true });
    expect((await porthole(['look', '3000', '--out', folder])).stderr).toMatch(/cannot be written/);
  });

  test('acts for the newest run, or for the one that is named', async () => {
    provisionAccess('run_2', join(folder, 'porthole.sock'));
    answer = json(200, []);
    await porthole(['status']);
    await porthole(['status'], { PORTHOLE_RUN: 'run_1' });
    expect(asked.map(({ line }) => line)).toEqual([
      'GET /api/runs/run_2/sandbox/port-forward',
      'GET /api/runs/run_1/sandbox/port-forward',
    ]);
    expect(await porthole(['status'], { PORTHOLE_RUN: 'run_3' })).toMatchObject({ code: 5 });
  });

  test.each([
    [[]],
    [['preview']],
    [['preview', 'http']],
    [['preview', '-1']],
    [['preview', '123456']],
    [['share']],
    [['share', '3000', '--expires', 'soon']],
    [['share', '3000', '--uses', 'many']],
    [['open', '3000']],
  ])('tells its usage on stderr for %j, and exits 2', async (args) => {
    const { code, stdout, stderr } = await porthole(args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(/^usage: porthole /m)]);
    expect(asked).toEqual([]);
  });

  test('exits 5 where no run is at work', async () => {
    rmSync(join(home, '.porthole/runs/run_1'));
    expect(await porthole(['preview', '3000'])).toEqual({
      code: 5,
      stdout: '',
      stderr: 'porthole: no run is at work in this sandbox, or Porthole has no channel to it.\n',
    });
    expect(await porthole(['preview', '3000'], { HOME: '' })).toMatchObject({ code: 5 });
  });

  test('never has the token in a command line', async () => {
    let lines = '';
    answer = (req, res) => {
      lines = spawnSync('sh', ['-c', "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'"]).stdout.toString();
      json(200, LIVE)(req, res);
    };
    await porthole(['preview', '3000']);
    expect(lines).toContain(COMMAND);
    expect(lines).not.toContain(TOKEN);
  });
});
