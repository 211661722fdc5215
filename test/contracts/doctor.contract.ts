import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute, serve } from '#test/host/support/commands.ts';
import { ALICE, BOB, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun, stopSandbox, outcome } from '#test/host/support/runs.ts';

interface Port {
  readonly port: number;
  readonly ready: boolean;
  readonly advice: string;
  readonly listener: {
    readonly addresses: string[];
    readonly process: { readonly command: string } | null;
  } | null;
  readonly http: Record<string, unknown>;
  readonly framework: string | null;
  readonly websocket: Record<string, unknown> | null;
}

interface Diagnosis {
  readonly sandbox: string;
  readonly advice: string;
  readonly listening: { readonly port: number }[] | null;
  readonly ports: Port[];
}

/**
 * The contract of the doctor in sandboxes of any provider; `settings` are those of the host, beside
 * its users.
 */
export function doctorContract(settings: () => Readonly<Record<string, string>>): void {
  let porthole: TestHost;
  let run: MadeRun;

  const ask = async (query = '', token = ALICE, { runId } = run): Promise<Diagnosis> => {
    const answer = await porthole.call('GET', `/api/runs/${runId}/sandbox/doctor${query}`, { token });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.json<Diagnosis>();
  };
  const about = async (port: number): Promise<Port> => {
    const [found] = (await ask(`?port=${port}`)).ports;
    if (found === undefined) throw new Error('not looked into');
    return found;
  };
  /** Runs a Node program in the background that creates `up-{port}` once it listens. */
  const start = async (port: number, program: string): Promise<void> => {
    const script = `node -e "$1" >/dev/null 2>&1 </dev/null & n=0; while [ ! -e up-${port} ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; [ -e up-${port} ]`;
    const up = `() => require('node:fs').writeFileSync('up-${port}', '')`;
    const { exitCode } = await execute(
      porthole,
      run.sandboxId,
      ['sh', '-c', script, 'sh', program.replace('UP', up)],
      { token: ALICE },
    );
    expect(exitCode).toBe(0);
  };

  beforeAll(async () => {
    porthole = await startTestHost({ ...PEOPLE, ...settings() });
    run = await makeRun(porthole, ALICE);
  });
  afterAll(() => porthole.end());

  test('says that nothing listens in a fresh sandbox', async () => {
    expect(await ask()).toEqual({
      sandbox: 'running',
      advice:
        'Nothing listens in this sandbox: start the server (e.g. porthole serve 3000 -- npm run dev), then ask again.',
      reached_by: 'loopback',
      page_checks: expect.any(Boolean),
      allowed_port_min: 3000,
      allowed_port_max: 9000,
      listening: [],
      ports: [],
    });
  });

  test('sees a server with its address, process, status and framework', async () => {
    await serve(porthole, run.sandboxId, 3000, '<title>Hello\u202e</title>', ALICE);
    const { advice, listening, ports } = await ask('?port=3000');
    expect(listening).toEqual([
      {
        port: 3000,
        addresses: ['127.0.0.1'],
        process: { pid: expect.any(Number), command: expect.stringMatching(/^node -e /) },
      },
    ]);
    expect(ports).toEqual([
      {
        port: 3000,
        ready: true,
        advice: 'Node.js answers on port 3000: a preview of it works.',
        listener: listening?.[0],
        http: { answer: 'answered', status: 200, server: null, content_type: null, title: 'Hello' },
        framework: 'Node.js',
        websocket: { upgrades: false, status: 200 },
        page: null,
      },
    ]);
    expect(advice).toBe(ports[0]?.advice);
  });

  test('names the port that does listen when asked for one that does not', async () => {
    const found = await about(3001);
    expect(found).toMatchObject({
      ready: false,
      listener: null,
      http: { answer: 'refused' },
      websocket: null,
    });
    expect(found.advice).toBe(
      'Nothing listens on port 3001, but something does on 3000: open a preview of that, or start the server on 3001.',
    );
  });

  test('finds an IPv6 server, and whether its WebSocket takes an upgrade', async () => {
    const accept = `require('node:crypto').createHash('sha1').update(q.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')`;
    await start(
      3002,
      `const s = require('node:http').createServer((q, r) => r.end('x')); s.on('upgrade', (q, c) => c.end('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + ${accept} + '\\r\\n\\r\\n')); s.listen(3002, '::1', UP)`,
    );
    const found = await about(3002);
    expect(found.listener?.addresses).toEqual(['::1']);
    expect([found.ready, found.websocket]).toEqual([true, { upgrades: true, status: 101 }]);
  });

  test('tells a server that speaks something else, and one outside of the range', async () => {
    await start(
      3003,
      `require('node:net').createServer((c) => c.end('220 mail ready\\r\\n')).listen(3003, UP)`,
    );
    await start(2222, `require('node:net').createServer((c) => c.end('SSH-2.0-x\\r\\n')).listen(2222, UP)`);
    const mail = await about(3003);
    expect([mail.ready, mail.http['answer'], mail.listener?.addresses]).toEqual([false, 'malformed', ['::']]);
    const ssh = await about(2222);
    expect(ssh.advice).toBe(
      'Port 2222 is outside of the ports that previews may expose (3000 to 9000): start the server on one of those.',
    );
  });

  test('inspects every listening port when no port is given, first those that can be previewed', async () => {
    const { ports, advice } = await ask();
    expect(ports.map(({ port, ready }) => [port, ready])).toEqual([
      [3000, true],
      [3002, true],
      [3003, false],
      [2222, false],
    ]);
    expect(advice).toBe('Node.js answers on port 3000: a preview of it works.');
  });

  test('takes what a hostile server says as text, and not much of it', async () => {
    const title = `<title>\\u001b[31m${'A'.repeat(5_000)}</title>`;
    await start(
      3004,
      `require('node:http').createServer((q, r) => { r.setHeader('server', 'x'.repeat(9000)); r.write('${title}'); setInterval(() => r.write('y'.repeat(100000)), 1).unref(); }).listen(3004, UP)`,
    );
    const answer = await porthole.call('GET', `/api/runs/${run.runId}/sandbox/doctor?port=3004`, {
      token: ALICE,
    });
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeLessThan(4_000);
    const [found] = answer.json<Diagnosis>().ports;
    expect(String(found?.http['server'])).toBe(`${'x'.repeat(119)}…`);
    expect(String(found?.http['title'])).toMatch(/^\[31mA{115}…$/);
  });

  test('is open to the run’s own agent only', async () => {
    const other = await makeRun(porthole, BOB);
    const path = `/api/runs/${run.runId}/sandbox/doctor`;
    expect((await ask('?port=3000', run.agentToken)).sandbox).toBe('running');
    expect(outcome(await porthole.call('GET', path, { token: BOB }))).toEqual([403, 'foreign_run']);
    expect(outcome(await porthole.call('GET', path, { token: other.agentToken }))).toEqual([
      403,
      'foreign_run',
    ]);
    expect(outcome(await porthole.call('GET', path))).toEqual([401, 'unauthorized']);
    // The other sandbox has a separate network.
    expect((await ask('', BOB, other)).listening).toEqual([]);
  });

  test.each(['0', '65536', '-1', '3000.5', 'http', '', '99999999999'])(
    'refuses the port %j',
    async (port) => {
      const answer = await porthole.call('GET', `/api/runs/${run.runId}/sandbox/doctor?port=${port}`, {
        token: ALICE,
      });
      expect(answer.json()).toEqual({
        error: `port: must be an integer between 1 and 65535, got ${JSON.stringify(port)}.`,
        code: 'invalid_request',
        retryable: false,
      });
    },
  );

  test('reports a sandbox that does not run as a finding', async () => {
    const stopped = await makeRun(porthole, ALICE);
    await stopSandbox(porthole, stopped.sandboxId);
    expect(await ask('?port=3000', ALICE, stopped)).toMatchObject({
      sandbox: 'stopped',
      listening: null,
      ports: [],
      advice:
        'The sandbox is not running: run a command in it, which restarts it after a crash, then start the server.',
    });
    expect((await porthole.host.services.sandboxes.inspect(stopped.sandboxId)).state).toBe('stopped');
  });
}
