import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { approvalsAsked, decide } from '#test/host/support/approvals.ts';
import { type CommandResult, execute, serve } from '#test/host/support/commands.ts';
import { ALICE, BOB, PEOPLE } from '#test/host/support/people.ts';
import { type Callable, type MadeRun, makeRun, stopSandbox } from '#test/host/support/runs.ts';

const URL_LINE = new RegExp(`^http://${PREVIEW_TOKEN_PATTERN}-preview\\.localhost:\\d+\\n$`);
const RUNS = '$HOME/.porthole/runs';

/** Runs a script in a sandbox as its owner. */
async function shell(
  porthole: Callable,
  { sandboxId }: MadeRun,
  script: string,
  token?: string,
): Promise<{ code: number | undefined; stdout: string; stderr: string }> {
  const result: CommandResult = await execute(
    porthole,
    sandboxId,
    ['sh', '-c', script],
    token === undefined ? {} : { token },
  );
  return { code: result.exitCode, stdout: result.stdout.toString(), stderr: result.stderr.toString() };
}

/**
 * The contract of the command in sandboxes, and of their channel to the host, with any provider;
 * `settings` are those of the host, beside its users.
 */
export function portholeCommandContract(settings: () => Readonly<Record<string, string>>): void {
  describe('in a sandbox, the porthole command', () => {
    let porthole: TestHost;
    let run: MadeRun;
    const inside = (script: string, of = run) => shell(porthole, of, script, ALICE);

    beforeAll(async () => {
      porthole = await startTestHost({ ...PEOPLE, ...settings() });
      run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
      await serve(porthole, run.sandboxId, 3000, 'hello', ALICE);
    });
    afterAll(() => porthole.end());

    test('opens a preview of a server, finds it again, and stops it', async () => {
      const opened = await inside('porthole preview 3000');
      expect(opened).toEqual({ code: 0, stdout: expect.stringMatching(URL_LINE), stderr: '' });
      expect(await inside('porthole status')).toMatchObject({ code: 0, stdout: `3000 ${opened.stdout}` });
      expect(await inside('porthole doctor 3000')).toMatchObject({
        code: 0,
        // If a browser is installed, it has opened the page.
        stdout: expect.stringMatching(
          /^Node\.js answers on port 3000: a preview of it works\.(?: Its page works\.)?\n$/,
        ),
      });
      expect(await inside('porthole stop 3000')).toMatchObject({ code: 0 });
      expect(await inside('porthole status')).toMatchObject({ code: 0, stdout: '' });
    });

    test('shares a preview by a link once its owner approves', async () => {
      await inside('porthole preview 3000');
      const sharing = inside('porthole share 3000 --label carol --may-wake --expires 1d');
      const [request] = await approvalsAsked(porthole, run.runId, { token: ALICE });
      expect(request?.data['message']).toBe(
        'Share the preview of port 3000 by a link for “carol”? Anyone with the link can see the app. They may start it while it is stopped. It ends after 1 day.',
      );
      await decide(
        porthole,
        run.runId,
        { request_id: request?.data['request_id'], decision: 'approve' },
        ALICE,
      );
      expect(await sharing).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^http:\S+\/open\?preview=preview-\w+#lnk_\w+\.\S+\n$/),
        stderr: '',
      });
      expect(await inside('porthole share 3001')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Port 3001'),
      });
      await inside('porthole stop 3000');
    });

    test('starts a server, lists it, prints its logs and stops it', async () => {
      const page = `require('http').createServer((q, r) => r.end('served')).listen(process.env.PORT, () => console.log('up on', process.env.PORT, process.env.GREETING))`;
      await inside(`cat >app.js <<'END'\n${page}\nEND`);
      const started = await inside('GREETING=hello porthole serve 3200 -- node app.js');
      expect(started).toEqual({
        code: 0,
        stdout: 'port-3200 is ready on port 3200. Its logs: porthole logs port-3200\n',
        stderr: '',
      });
      const listed = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/servers/port-3200`, {
        token: ALICE,
      });
      expect(listed.json()).toMatchObject({ state: 'ready', started_by: { kind: 'sandbox', id: null } });
      expect((await inside('porthole ps')).stdout).toMatch(
        /^port-3200 +ready +3200 +\d+ +\d+s +node app.js$/m,
      );
      expect(await inside('porthole logs 3200')).toEqual({
        code: 0,
        stdout: 'up on 3200 hello\n',
        stderr: '',
      });
      expect(await inside('porthole stop port-3200 --remove')).toMatchObject({ code: 0 });
      expect(await inside('porthole logs port-3200')).toMatchObject({ code: 1, stdout: '' });
    });

    test('says why it opens none', async () => {
      expect(await inside('porthole preview 2999')).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'porthole: preview port must be between 3000 and 9000, got 2999: start the server on a port in that range.\n',
      });
    });

    test('finds its token in a file for the sandbox’s user alone, and in no environment and no command line', async () => {
      const { stdout } = await inside(`stat -c '%a %u' ${RUNS}/* ${RUNS}; cat ${RUNS}/*`);
      const [file, folder, ...lines] = stdout.trim().split('\n');
      expect([file, folder]).toEqual(['600 1000', '700 1000']);
      expect(lines).toEqual([
        `run=${run.runId}`,
        // Differs from its owner's token: it is valid only for calls from here.
        expect.stringMatching(/^token=[\w-]+\.[\w-]+\.[\w-]+$/),
        'socket=/run/porthole/porthole.sock',
      ]);
      const seen = await inside("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'");
      expect(seen.stdout).toContain(`SANDBOX_ID=${run.sandboxId}`);
      const own = lines[1]?.slice('token='.length) ?? '';
      for (const token of [run.agentToken, own]) {
        expect(seen.stdout).not.toContain(token);
        expect(porthole.logged.join('')).not.toContain(token);
      }
      expect((await porthole.call('GET', `/api/runs/${run.runId}`, { token: own })).status).toBe(401);
    });

    test('acts for the newest of several runs, and for an older one once that has ended', async () => {
      const shared = await makeRun(porthole, ALICE, { auto_approve_tools: true });
      const newer = await makeRun(porthole, ALICE, {
        auto_approve_tools: true,
        sandbox_id: shared.sandboxId,
      });
      const who = `ls ${RUNS}; porthole preview 4000 >/dev/null 2>&1; echo $?`;
      expect((await inside(who, shared)).stdout).toBe(`${shared.runId}\n${newer.runId}\n0\n`);
      const previewsOf = async ({ runId }: MadeRun) =>
        (await porthole.call('GET', `/api/runs/${runId}/sandbox/port-forward`, { token: ALICE })).json<
          unknown[]
        >().length;
      expect([await previewsOf(shared), await previewsOf(newer)]).toEqual([0, 1]);
      await porthole.call('POST', `/api/runs/${newer.runId}/complete`, { token: ALICE });
      expect((await inside(who, shared)).stdout).toBe(`${shared.runId}\n0\n`);
      expect([await previewsOf(shared), await previewsOf(newer)]).toEqual([1, 1]);
      await porthole.call('POST', `/api/runs/${shared.runId}/complete`, { token: ALICE });
      expect((await inside(who, shared)).stdout).toBe('5\n');
    });

    test('is there again in a sandbox that was stopped, and in one that died', async () => {
      const other = await makeRun(porthole, ALICE, { auto_approve_tools: true });
      await stopSandbox(porthole, other.sandboxId);
      await porthole.host.services.records.sandboxes.setDesired(other.sandboxId, 'running');
      // The next command starts it again.
      expect(await inside('porthole preview 3000 2>/dev/null', other)).toMatchObject({ code: 0 });
      await inside('rm -rf $HOME/.porthole', other);
      expect((await inside('porthole status', other)).code).toBe(5);
      await stopSandbox(porthole, other.sandboxId);
      await porthole.host.services.sandboxes.resume(other.sandboxId);
      expect(await inside('porthole status', other)).toMatchObject({ code: 0 });
    });

    test('leaves the command alone that an image brings', async () => {
      const script = `mkdir -p bin && printf '#!/bin/sh\\necho mine\\n' >bin/porthole && chmod +x bin/porthole`;
      await inside(script);
      expect((await inside('PATH=/workspace/bin:$PATH porthole')).stdout).toBe('mine\n');
    });

    test('is absent in a run with a read-only home, and the log says so', async () => {
      const other = await makeRun(porthole, ALICE);
      await inside('rm -rf $HOME/.porthole && touch $HOME/.porthole', other);
      const next = await makeRun(porthole, ALICE, { sandbox_id: other.sandboxId });
      expect(next.agentToken).not.toBe('');
      const warned = porthole.logged.filter((line) => line.includes('runs not introduced in their sandbox'));
      expect(warned).toHaveLength(1);
      expect(warned.join('')).not.toContain(next.agentToken);
    });
  });

  describe('the channel of a sandbox', () => {
    let porthole: TestHost;
    let run: MadeRun;
    let neighbour: MadeRun;
    /** The channel's answer to curl with these arguments: status, then body. */
    const ask = async (args: string, of = run): Promise<string> => {
      const { stdout } = await shell(
        porthole,
        of,
        `curl -s -m 20 -w ' %{http_code}' --unix-socket /run/porthole/porthole.sock ${args}`,
      );
      return stdout;
    };
    const bearer = (token: string) => `-H 'Authorization: Bearer ${token}'`;

    beforeAll(async () => {
      // Nothing is configured: on the API every user is `local`.
      porthole = await startTestHost(settings());
      run = await makeRun(porthole);
      neighbour = await makeRun(porthole);
    });
    afterAll(() => porthole.end());

    test('is never local: a call without a credential is refused, although the API is open', async () => {
      expect((await porthole.call('GET', `/api/runs/${run.runId}`)).status).toBe(200);
      expect(await ask(`http://porthole/api/runs/${run.runId}`)).toBe(
        '{"error":"Only the token of a running run of this very sandbox is accepted here.","code":"unauthorized","retryable":false} 401',
      );
    });

    test.each<[string, () => string]>([
      ['no credential', () => ''],
      ['the token of a run in another sandbox', () => bearer(neighbour.agentToken)],
      ['a token that is none', () => bearer('a.b.c')],
      ['a token with a byte more', () => bearer(`${run.agentToken}A`)],
      ['a credential of another form', () => "-H 'Authorization: Basic bG9jYWw6'"],
      ['a token in the query', () => `--get -d token=${run.agentToken}`],
    ])('refuses %s', async (_name, args) => {
      for (const path of [`api/runs/${run.runId}`, `api/runs/${neighbour.runId}`, 'health', 'nothing']) {
        expect(await ask(`${args()} http://porthole/${path}`)).toMatch(
          /"code":"unauthorized","retryable":false[,}].* 401$/,
        );
      }
    });

    test.each([
      'api/runs',
      'v1/sandbox/SANDBOX/running',
      'v1/sandbox/SANDBOX/file/etc/passwd',
      'health',
      'metrics',
      'v1/openapi.json',
      '',
      '../health',
      'api/runs/RUN/../../health',
      'api/runs/RUN/sandbox/port-forward/x/../../../../../health',
    ])('serves its run’s own agent nothing but its run: not /%s', async (path) => {
      const real = path.replace('SANDBOX', run.sandboxId).replace('RUN', run.runId);
      expect(await ask(`--path-as-is ${bearer(run.agentToken)} 'http://porthole/${real}'`)).toMatch(
        /("code":"not_found","retryable":false[,}].*|^404 Not Found) 404$/,
      );
    });

    test('serves the run’s own agent what it may do, and no other run', async () => {
      const own = await ask(`${bearer(run.agentToken)} http://porthole/api/runs/${run.runId}`);
      expect(own).toContain(`"run_id":"${run.runId}"`);
      for (const path of ['', '/timeline', '/sandbox/port-forward', '/sandbox/doctor']) {
        expect(await ask(`${bearer(run.agentToken)} http://porthole/api/runs/${run.runId}${path}`)).toMatch(
          / 200$/,
        );
        expect(
          await ask(`${bearer(run.agentToken)} http://porthole/api/runs/${neighbour.runId}${path}`),
        ).toMatch(/"code":"foreign_run","retryable":false[,}].* 403$/);
      }
      expect(
        await ask(`-X POST ${bearer(run.agentToken)} http://porthole/api/runs/${run.runId}/complete`),
      ).toMatch(/"code":"not_found","retryable":false[,}].* 404$/);
    });

    test('refuses a completed run’s token', async () => {
      const done = await makeRun(porthole, undefined, { sandbox_id: run.sandboxId });
      expect(await ask(`${bearer(done.agentToken)} http://porthole/api/runs/${done.runId}`)).toMatch(/ 200$/);
      await porthole.call('POST', `/api/runs/${done.runId}/complete`);
      expect(await ask(`${bearer(done.agentToken)} http://porthole/api/runs/${done.runId}`)).toMatch(/ 401$/);
    });

    let programs = 0;

    /**
     * Sends raw bytes to the channel; returns the answer. Each call has a separate file, because
     * two may run at once.
     */
    const raw = (program: string): Promise<string> => {
      programs += 1;
      return shell(
        porthole,
        run,
        `cat >raw-${programs}.js <<'END'
      const socket = require('net').connect('/run/porthole/porthole.sock');
      const began = Date.now();
      let heard = '';
      socket.on('error', (error) => (heard += error.code));
      socket.on('data', (piece) => (heard += piece));
      socket.on('close', () => { console.log(JSON.stringify({ heard: heard.slice(0, 4000), ms: Date.now() - began })); process.exit(); });
      ${program}
END
      node raw-${programs}.js`,
      ).then(({ stdout }) => stdout);
    };
    const head = (more = '') => `GET /api/runs/RUN HTTP/1.1\\r\\nHost: porthole\\r\\n${more}`;

    test('refuses a head of more than 8 KiB', async () => {
      const said = await raw(`socket.write('${head()}X: ' + 'y'.repeat(9000) + '\\r\\n\\r\\n');`);
      expect(said).toContain('HTTP/1.1 431');
    });

    test('cuts off a head that trickles in, and a body that does', async () => {
      const trickle = `const drip = setInterval(() => socket.write('y'), 200); socket.on('close', () => clearInterval(drip));`;
      const [slowHead, slowBody] = await Promise.all([
        raw(`socket.write('${head('X: ')}'); ${trickle}`),
        raw(
          `socket.write('POST /api/runs/${run.runId}/sandbox/preview HTTP/1.1\\r\\nHost: porthole\\r\\nAuthorization: Bearer ${run.agentToken}\\r\\nContent-Type: application/json\\r\\nContent-Length: 900000\\r\\n\\r\\n{'); ${trickle}`,
        ),
      ]);
      for (const said of [slowHead, slowBody]) {
        const { ms } = JSON.parse(said) as { ms: number };
        expect(ms).toBeLessThan(20_000);
      }
      expect(slowHead).toContain('HTTP/1.1 408');
    }, 60_000);

    test('carries one request a connection', async () => {
      const request = `${head(`Authorization: Bearer ${run.agentToken}\\r\\n`).replace('RUN', run.runId)}\\r\\n`;
      const said = await raw(`socket.write('${request}${request}${request}');`);
      expect(said.split('HTTP/1.1 200').length - 1).toBe(1);
    });

    test('takes no WebSocket, no other upgrade and no proxying', async () => {
      const upgrade = `Upgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n`;
      expect(await raw(`socket.write('${head(upgrade)}');`)).toContain('HTTP/1.1 404');
      expect(await raw(`socket.write('CONNECT 127.0.0.1:22 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');`)).toContain(
        'HTTP/1.1 405',
      );
      expect(
        await raw(`socket.write('GET http://127.0.0.1:22/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');`),
      ).toContain('HTTP/1.1 400');
    });

    test('keeps quiet in the log about what strangers say', () => {
      const lines = porthole.logged.map(
        (line) => JSON.parse(line) as { level: string; msg: string; operation?: string },
      );
      const loud = lines.filter(({ level }) => level !== 'debug' && level !== 'trace');
      expect(loud.filter(({ operation }) => operation === 'unmatched')).toEqual([]);
      expect(porthole.logged.join('')).not.toContain(run.agentToken);
    });
  });

  describe('the porthole command after its host', () => {
    test('was killed and started again works in the sandboxes that lived on', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'porthole-channel-host-'));
      const started = () => startHostProcess({ dataDir, environment: { ...PEOPLE, ...settings() } });
      const at = (port: number): Callable => ({
        call: (method, path, options) => call(port, method, path, options),
      });
      let host = await started();
      try {
        const run = await makeRun(at(host.port), ALICE, { auto_approve_tools: true });
        const inside = (script: string) => shell(at(host.port), run, script, ALICE);
        await inside('echo here >$HOME/mark');
        expect(await inside('porthole preview 3000 2>/dev/null')).toMatchObject({ code: 0 });
        await host.end('SIGKILL');
        host = await started();
        const again = await inside('cat $HOME/mark; porthole preview 3000 2>/dev/null');
        expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^here\nhttp:/) });
        // It has no access to Bob's run in another sandbox.
        const other = await makeRun(at(host.port), BOB);
        const foreign = `curl -s -o /dev/null -w '%{http_code}' --unix-socket /run/porthole/porthole.sock -H 'Authorization: Bearer ${other.agentToken}' http://porthole/api/runs/${other.runId}`;
        expect((await inside(foreign)).stdout).toBe('401');
        await call(host.port, 'DELETE', `/v1/sandbox/${run.sandboxId}`, { token: ALICE });
        await call(host.port, 'DELETE', `/v1/sandbox/${other.sandboxId}`, { token: BOB });
      } finally {
        await host.end();
        await rm(dataDir, { recursive: true, force: true });
      }
    });
  });
}
