import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { rawExchange } from './support/raw-exchange.ts';
import { makeRun, stopSandbox } from './support/runs.ts';
import { openTerminal, refusedTerminal, type TerminalOptions } from './support/terminals.ts';

/** A silent shell: neither a prompt nor an echo. */
const QUIET = "PS1= PS2=; stty -echo; bind 'set enable-bracketed-paste off' 2>/dev/null; echo qu''iet\n";

describe('the terminal', () => {
  let porthole: TestHost;
  let id: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    ({ sandboxId: id } = await makeRun(porthole));
  });
  afterAll(() => porthole.end());

  const open = (options: TerminalOptions = {}, sandbox = id) =>
    openTerminal(porthole.host.port, sandbox, options);
  const refused = (options: TerminalOptions, sandbox = id) =>
    refusedTerminal(porthole.host.port, sandbox, options);
  const quiet = async (options: TerminalOptions = {}, sandbox = id) => {
    const terminal = await open(options, sandbox);
    terminal.type(QUIET);
    await terminal.shows('quiet');
    return terminal;
  };
  const sh = async (script: string, sandbox = id) =>
    (await execute(porthole, sandbox, ['bash', '-c', script])).stdout.toString();
  /**
   * Polls in the sandbox, for at most half a minute, until a shell condition holds; returns whether
   * it does.
   */
  const eventually = async (condition: string, sandbox = id) =>
    (await sh(`for n in {1..600}; do ${condition} && echo yes && exit; sleep 0.05; done`, sandbox)) ===
    'yes\n';

  test('says ready, has the size that is asked for, and ends with its shell', async () => {
    const terminal = await open({ query: { cols: 91, rows: 31 } });
    terminal.type('stty size; echo "$TERM in $PWD"; exit 42\n');
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages[0]).toEqual({ type: 'ready' });
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 42 });
    expect(terminal.reported).toHaveLength(2);
    expect(terminal.output.toString()).toContain('31 91\r\nxterm-256color in /workspace\r\n');
  });

  test.each([
    ['without a session', {}],
    ['of a session', { session: 'prompted' }],
  ])('has the working directory in its prompt %s', async (_name, query) => {
    const terminal = await open({ query });
    await terminal.shows('/workspace $ ');
    terminal.type('cd outputs\n');
    await terminal.shows('/workspace/outputs $ ');
    await terminal.leave();
  });

  test('is 80 by 24 where nothing is asked for, and takes new sizes', async () => {
    const terminal = await quiet({ query: { cols: '', rows: '' } });
    terminal.type('stty size\n');
    await terminal.shows('24 80\r\n');
    terminal.socket.send(JSON.stringify({ type: 'resize', cols: 132, rows: 43 }));
    terminal.type('stty size\n');
    await terminal.shows('43 132\r\n');
    terminal.socket.send(JSON.stringify({ type: 'resize', cols: 4096, rows: 1 }));
    terminal.type('stty size; tput cols\n');
    await terminal.shows('1 4096\r\n4096\r\n');
    await terminal.leave();
  });

  test('reports a new size to a program at once', async () => {
    const terminal = await quiet();
    terminal.type(`bash -c 'trap "stty size" WINCH; echo se""t; while :; do sleep 0.02; done'\n`);
    await terminal.shows('set\r\n');
    terminal.socket.send('{"type":"resize","cols":77,"rows":11}');
    await terminal.shows('11 77\r\n');
    await terminal.leave();
  });

  test('answers what it cannot parse with an error message, and does not end', async () => {
    const terminal = await quiet();
    const invalid = 'Invalid control message';
    const dimensions = 'Invalid dimensions: cols and rows must be positive';
    const cases: [string, string][] = [
      ['{', invalid],
      ['x'.repeat(5_000), invalid],
      ['{"type":"resize","cols":0,"rows":24}', dimensions],
      ['{"type":"resize","cols":80,"rows":-1}', dimensions],
      ['{"type":"resize"}', dimensions],
      ['{"type":"resize","cols":"80","rows":"24"}', dimensions],
      ['{"type":"resize","cols":4097,"rows":24}', 'Invalid dimensions: cols and rows must be at most 4096'],
    ];
    for (const [text] of cases) terminal.socket.send(text);
    terminal.socket.send('{"type":"ping"}');
    terminal.type('stty size\n');
    await terminal.shows('24 80\r\n');
    expect(terminal.reported).toEqual([
      { type: 'ready' },
      ...cases.map(([, message]) => ({ type: 'error', message })),
    ]);
    await terminal.leave();
  });

  test('bytes arrive as they are, both ways', async () => {
    const terminal = await quiet();
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    terminal.type('stty raw; head -c 256 | tee all; stty sane; stty -echo; echo do""ne\n');
    await eventually('[ -e all ]');
    terminal.type(all);
    await terminal.shows('done');
    expect(terminal.output.includes(all)).toBe(true);
    expect(await sh('sha256sum < all')).toBe(
      await sh(`printf '${all.toString('hex').replace(/../g, '\\x$&')}' | sha256sum`),
    );
    await terminal.leave();
  });

  test('control characters do what they do on a terminal', async () => {
    const terminal = await quiet();
    terminal.type(`bash -c 'trap "echo interr""upted" INT; sleep 1001'\n`);
    await eventually('pgrep -fx "sleep 1001" >/dev/null');
    terminal.type('\x03');
    await terminal.shows('interrupted');
    terminal.type('cat > typed; echo ty""ped\n');
    await eventually('[ -e typed ]');
    terminal.type('naïve – 窓 🪟x\x7f\n\x04');
    await terminal.shows('typed');
    terminal.type('\x04');
    expect(await terminal.closed).toBe(1000);
    expect(await sh('cat typed')).toBe('naïve – 窓 🪟\n');
    expect(terminal.messages.at(-1)).toMatchObject({ type: 'exit' });
  });

  test('lets a full-screen program draw, read keys and restore the screen', async () => {
    const terminal = await quiet({ query: { cols: 60, rows: 12 } });
    terminal.type('for n in {1..100}; do echo "line $n"; done > lines; less lines\n');
    await terminal.shows('line 11');
    expect(terminal.output.toString()).not.toContain('line 12');
    terminal.type('G');
    await terminal.shows('line 100');
    terminal.type('q');
    terminal.type('exit 7\n');
    expect(await terminal.closed).toBe(1000);
    const drawn = terminal.output.toString();
    expect(drawn.indexOf('\x1b[?1049h')).toBeLessThan(drawn.indexOf('line 11'));
    expect(drawn.indexOf('\x1b[?1049l')).toBeGreaterThan(drawn.indexOf('line 100'));
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 7 });
  });

  test('sends everything that was shown before the exit', async () => {
    const terminal = await quiet();
    const before = terminal.output.length;
    terminal.type("head -c 5000000 /dev/zero | tr '\\0' x; printf end; exit 3\n");
    expect(await terminal.closed).toBe(1000);
    const shown = terminal.output.subarray(before);
    expect([shown.length, shown.subarray(-4).toString()]).toEqual([5_000_003 + 'exit\r\n'.length, 'it\r\n']);
    expect(shown.subarray(-9).toString()).toBe('endexit\r\n');
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 3 });
  });

  test('reports the signal that ended a shell by code and name', async () => {
    const terminal = await open();
    terminal.type('kill -KILL $$\n');
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 137, signal: 'SIGKILL' });
  });

  test.each([
    ['sh', '$0', 'sh\r\n'],
    ['/bin/bash', '$BASH', '/bin/bash\r\n'],
  ])('accepts %s as the shell', async (shell, name, shown) => {
    const terminal = await open({ query: { shell } });
    terminal.type(`echo ${name}; exit\n`);
    await terminal.closed;
    expect(terminal.output.toString()).toContain(shown);
  });

  test('exits with 127 when the shell does not exist', async () => {
    const terminal = await open({ query: { shell: 'no-such-shell' } });
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 127 });
  });

  describe('without a session', () => {
    test('ends with its socket, and leaves nothing behind', async () => {
      const terminal = await quiet();
      terminal.type('sleep 4441 & sleep 4442\n');
      await eventually('pgrep -fx "sleep 4442" >/dev/null');
      terminal.socket.terminate();
      expect(await eventually('! pgrep -fx "sleep 444[12]" >/dev/null')).toBe(true);
    });

    test('leaves a program running that is started to outlive its terminal', async () => {
      const { sandboxId } = await makeRun(porthole);
      const terminal = await quiet({}, sandboxId);
      terminal.type('nohup sleep 4443 >/dev/null 2>&1 &\n');
      await eventually('pgrep -fx "sleep 4443" >/dev/null', sandboxId);
      await terminal.leave();
      expect(await eventually('[ "$(pgrep -xc bash)" = 1 ]', sandboxId)).toBe(true);
      expect(await sh('pgrep -fxc "sleep 4443"', sandboxId)).toBe('1\n');
    });

    test('opens a separate terminal for each socket', async () => {
      const [one, other] = await Promise.all([quiet(), quiet()]);
      one.type('mine=1; echo "one: ${mine-none}"\n');
      await one.shows('one: 1');
      other.type('echo "other: ${mine-none}"\n');
      await other.shows('other: none');
      await Promise.all([one.leave(), other.leave()]);
    });

    test('fifty at once do not mix', async () => {
      const all = await Promise.all(Array.from({ length: 50 }, () => open()));
      all.forEach((terminal, n) => terminal.type(`echo "I am $((${n} + 1000))"; exit ${n}\n`));
      const codes = await Promise.all(all.map((terminal) => terminal.closed));
      expect(new Set(codes)).toEqual(new Set([1000]));
      expect(all.map((terminal) => terminal.messages.at(-1))).toEqual(
        all.map((_, n) => ({ type: 'exit', code: n })),
      );
      all.forEach((terminal, n) => expect(terminal.output.toString()).toContain(`I am ${n + 1000}\r\n`));
    });
  });

  describe('of a session', () => {
    test('stays when its viewer leaves, and shows its earlier output to the next one', async () => {
      const query = { session: 'stays' };
      const first = await quiet({ query });
      first.type('kept=here; echo be""fore\n');
      await first.shows('before');
      await first.leave();
      const second = await open({ query });
      expect(second.messages.findIndex((message) => !(message instanceof Buffer))).toBe(1);
      expect(second.messages[1]).toEqual({ type: 'ready' });
      expect((second.messages[0] as Buffer).toString()).toContain('before');
      second.type('echo "kept $kept"; exit\n');
      expect(await second.closed).toBe(1000);
      expect(second.output.toString()).toContain('kept here');
    });

    test('keeps its program running meanwhile, and shows exactly the last 256 KiB again', async () => {
      const query = { session: 'ring' };
      const first = await quiet({ query });
      first.type("seq -f '%09.0f' 1 50000; touch printed; sleep 1000\n");
      await first.leave();
      await eventually('[ -e printed ]');
      const second = await open({ query });
      const [replay, ready] = second.messages;
      expect(ready).toEqual({ type: 'ready' });
      expect((replay as Buffer).length).toBe(262_144);
      const whole = Buffer.from(
        Array.from({ length: 50_000 }, (_, n) => `${String(n + 1).padStart(9, '0')}\r\n`).join(''),
      );
      // The last bytes may still be in transit and then follow.
      await second.until(({ output }) => output.subarray(-11).toString() === '000050000\r\n');
      expect(second.output.equals(whole.subarray(-second.output.length))).toBe(true);
      second.type('\x03');
      second.type('exit\n');
      await second.closed;
    });

    test('shows all its viewers the same, lets all of them type, and reports its end to them', async () => {
      const first = await quiet({ query: { session: 'shared', cols: 100, rows: 30 } });
      const second = await open({ headers: { 'Session-Id': 'shared' }, query: { session: 'another' } });
      second.type('echo from se""cond; stty size\n');
      await Promise.all([
        first.shows('from second\r\n30 100\r\n'),
        second.shows('from second\r\n30 100\r\n'),
      ]);
      const third = await open({ query: { session: 'shared', cols: 70, rows: 20 } });
      third.type('stty size; exit 5\n');
      expect(await Promise.all([first, second, third].map(({ closed }) => closed))).toEqual([
        1000, 1000, 1000,
      ]);
      for (const viewer of [first, second, third]) {
        expect(viewer.messages.at(-1)).toEqual({ type: 'exit', code: 5 });
        expect(viewer.output.toString()).toContain('20 70\r\n');
      }
    });

    test('ended, the next one is another', async () => {
      const query = { session: 'again' };
      const first = await quiet({ query });
      first.type('gone=1; exit\n');
      await first.closed;
      const second = await open({ query });
      second.type('echo "gone: ${gone-yes}"; exit\n');
      await second.closed;
      expect(second.output.toString()).toContain('gone: yes');
    });

    test('ends with the session', async () => {
      const viewer = await quiet({ query: { session: 'deleted' } });
      expect((await porthole.call('DELETE', `/v1/sandbox/${id}/session/deleted`)).status).toBe(204);
      expect(await viewer.closed).toBe(1001);
      expect(viewer.messages.at(-1)).toEqual({
        type: 'error',
        message: 'The session was deleted, and its terminal with it.',
      });
    });

    test('gives two viewers that come at once the same terminal', async () => {
      const query = { session: 'race' };
      const [one, other] = await Promise.all([open({ query }), open({ query })]);
      one.type('echo "shell $$ e""nd"\n');
      await Promise.all([one.shows(' end'), other.shows(' end')]);
      other.type('exit\n');
      expect(await Promise.all([one.closed, other.closed])).toEqual([1000, 1000]);
    });

    test('begins in the folder of the session, with what the session exports', async () => {
      const inSession = async (script: string) =>
        porthole.call('POST', `/v1/sandbox/${id}/exec`, {
          body: { argv: ['eval', script] },
          headers: { 'session-id': 'placed' },
        });
      await inSession('mkdir -p deep/er && cd deep/er && export COLOUR=blue');
      const terminal = await open({ query: { session: 'placed' } });
      terminal.type('echo "$COLOUR in $PWD on $TERM"; exit\n');
      await terminal.closed;
      expect(terminal.output.toString()).toContain('blue in /workspace/deep/er on xterm-256color');
    });

    test('replaces the one that was left first when a seventeenth opens', async () => {
      const { sandboxId } = await makeRun(porthole);
      const names = Array.from({ length: 16 }, (_, n) => `s${n}`);
      for (const session of names) await (await open({ query: { session } }, sandboxId)).leave();
      const extra = await open({ query: { session: 'extra' } }, sandboxId);
      expect(await eventually('[ "$(pgrep -xc bash)" = 17 ]', sandboxId)).toBe(true);
      await porthole.call('DELETE', `/v1/sandbox/${sandboxId}`);
      await extra.closed;
    });

    test('replaces none of sixteen that have viewers', async () => {
      const { sandboxId } = await makeRun(porthole);
      const all = await Promise.all(
        Array.from({ length: 16 }, (_, n) => open({ query: { session: `s${n}` } }, sandboxId)),
      );
      const answer = await refused({ query: { session: 'extra' } }, sandboxId);
      expect([answer.status, answer.body['code']]).toEqual([429, 'too_many_terminals']);
      await porthole.call('DELETE', `/v1/sandbox/${sandboxId}`);
      await Promise.all(all.map(({ closed }) => closed));
    });
  });

  test.each(['', 'kept'])('closes when its sandbox is deleted (session %j)', async (session) => {
    const { sandboxId } = await makeRun(porthole);
    const terminal = await open({ query: { session } }, sandboxId);
    await porthole.call('DELETE', `/v1/sandbox/${sandboxId}`);
    expect(await terminal.closed).toBe(1001);
    expect(terminal.messages.at(-1)).toEqual({
      type: 'error',
      message: `Sandbox ${sandboxId} was deleted, and its terminal ended with it. Create a sandbox with POST /v1/sandbox.`,
    });
  });

  test('closes when its sandbox is stopped; another one brings the sandbox back', async () => {
    const { sandboxId } = await makeRun(porthole);
    const terminal = await open({}, sandboxId);
    await stopSandbox(porthole, sandboxId);
    expect(await terminal.closed).toBe(1001);
    expect(terminal.reported.at(-1)?.['message']).toBe(
      `Sandbox ${sandboxId} was stopped, and its terminal ended with it. POST /v1/sandbox/${sandboxId}/resume brings it back with its files.`,
    );
    const again = await open({}, sandboxId);
    again.type('exit 7\n');
    expect(await again.closed).toBe(1000);
  });

  test('gets a different session after its sandbox is deleted and created again', async () => {
    const { sandboxId } = await makeRun(porthole);
    const query = { session: 'same' };
    const first = await open({ query }, sandboxId);
    first.type('old=1\n');
    await porthole.call('DELETE', `/v1/sandbox/${sandboxId}`);
    const second = await open({ query }, sandboxId);
    second.type('echo "old: ${old-no}"; exit\n');
    expect(await second.closed).toBe(1000);
    expect(second.output.toString()).toContain('old: no');
  });

  test('creates a sandbox that does not exist', async () => {
    const terminal = await open({}, 'terminalbysomeoneelse');
    terminal.type('exit 9\n');
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 9 });
  });

  test('stops the program while a viewer does not read, and continues its output where it stopped', async () => {
    const terminal = await quiet();
    terminal.socket.pause();
    terminal.type(
      "for ((n = 1; n <= 12000; n++)); do printf '%01000d' $n; echo $n > count; done; echo al''l; exit 6\n",
    );
    const counted = async () => Number(await sh('sleep 0.5; cat count 2>/dev/null'));
    let before = -1;
    let now = 0;
    while (now === 0 || now !== before) [before, now] = [now, await counted()];
    // The kernel buffers about 10 MB for two sockets and a terminal.
    expect(now).toBeLessThan(10_000);
    terminal.socket.resume();
    expect(await terminal.closed).toBe(1000);
    const shown = terminal.output.toString();
    expect(shown.slice(shown.indexOf('0'.repeat(996))).length).toBe(12_000_000 + 'all\r\nexit\r\n'.length);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 6 });
  });

  test('clients that go at any moment leave nothing behind', async () => {
    const { sandboxId } = await makeRun(porthole);
    const url = `ws://127.0.0.1:${porthole.host.port}/v1/sandbox/${sandboxId}/pty`;
    const gone = Array.from({ length: 60 }, async (_, n) => {
      const socket = new WebSocket(url);
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      if (n % 3 === 0) socket.once('upgrade', () => socket.terminate());
      else if (n % 3 === 1) socket.once('message', () => socket.terminate());
      else setTimeout(() => socket.terminate(), n / 2);
      await closed;
    });
    await Promise.all(gone);
    expect(await eventually('[ "$(pgrep -xc bash)" = 1 ]', sandboxId)).toBe(true);
  });

  test('ends the socket with 1009 after a message of more than 1 MiB', async () => {
    const terminal = await open();
    terminal.type(Buffer.alloc(1024 * 1024 + 1, 'x'));
    expect(await terminal.closed).toBe(1009);
  });

  describe('before the handshake, it refuses by plain HTTP', () => {
    test.each<[string, TerminalOptions, string]>([
      ['a width that is no number', { query: { cols: 'wide' } }, 'cols and rows must be valid numbers'],
      ['a height that is no number', { query: { rows: 'NaN' } }, 'cols and rows must be valid numbers'],
      ['no width', { query: { cols: 0 } }, 'cols and rows must be from 1 to 4096'],
      ['a negative height', { query: { rows: -5 } }, 'cols and rows must be from 1 to 4096'],
      ['a huge width', { query: { cols: 65_535 } }, 'cols and rows must be from 1 to 4096'],
      ['an endless width', { query: { cols: 'Infinity' } }, 'cols and rows must be valid numbers'],
      ['a session with a slash', { query: { session: 'a/b' } }, 'Invalid session ID format'],
      ['a session with dots', { query: { session: 'a..b' } }, 'Invalid session ID format'],
      [
        'a bad header before a good query',
        { headers: { 'Session-Id': 'a b' }, query: { session: 'good' } },
        'Invalid session ID format',
      ],
      ...['bash -i', '-c', 'a\nb', '$(id)', 'x'.repeat(256)].map(
        (shell): [string, TerminalOptions, string] => [
          `the shell ${JSON.stringify(shell.slice(0, 20))}`,
          { query: { shell } },
          'shell must be the name or the path of one program, such as /bin/bash, without arguments',
        ],
      ),
    ])('%s', async (_name, options, error) => {
      const answer = await refused(options);
      expect([answer.status, answer.body]).toEqual([
        400,
        { error, code: 'invalid_request', retryable: false },
      ]);
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{16}$/);
      expect(answer.headers['connection']).toBe('close');
    });

    test('refuses an id of another form', async () => {
      const answer = await refused({}, 'NOT-AN-ID');
      expect([answer.status, answer.body['error']]).toEqual([400, 'Invalid sandbox ID format']);
    });

    test('refuses a request that does not ask for a WebSocket', async () => {
      const answer = await porthole.call('GET', `/v1/sandbox/${id}/pty`);
      expect([answer.status, answer.json()]).toEqual([
        400,
        { error: 'WebSocket upgrade required', code: 'invalid_request', retryable: false },
      ]);
    });

    const handshake = (more: string, path = `/v1/sandbox/${id}/pty`) =>
      rawExchange(
        porthole.host.port,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`,
      );
    const GOOD = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    test.each([
      ['without a key', 'Sec-WebSocket-Version: 13\r\n'],
      ['of an old version', GOOD.replace('13', '8')],
    ])('refuses a handshake %s, and ends the connection', async (_name, headers) => {
      const answer = await handshake(headers);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('"code":"invalid_request"');
    });

    test.each(['cols', 'rows'])('refuses a wrong %s before a handshake that is broken', async (name) => {
      const answer = await handshake('', `/v1/sandbox/${id}/pty?${name}=abc`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain(
        '{"error":"cols and rows must be valid numbers","code":"invalid_request","retryable":false}',
      );
    });

    test('refuses a foreign origin', async () => {
      const answer = await handshake(`${GOOD}Origin: https://evil.test\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).toContain('"code":"origin_not_allowed"');
    });

    test.each(['/no/such/path', '/health', '/v1/sandbox/x/exec', '/v1/sandbox/x/ptys'])(
      'refuses a handshake at %s',
      async (path) => {
        expect(await handshake(GOOD, path)).toMatch(/^HTTP\/1\.1 40[45] /);
      },
    );
  });
});

describe('access to a terminal', () => {
  let porthole: TestHost;
  let id: string;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    ({ sandboxId: id } = await makeRun(porthole, ALICE));
  });
  afterAll(() => porthole.end());

  const statusFor = async (options: TerminalOptions) => {
    const { status, body } = await refusedTerminal(porthole.host.port, id, options);
    return [status, body['code']];
  };

  test('refuses no key, a stranger’s key and a wrong key', async () => {
    expect(await statusFor({})).toEqual([401, 'unauthorized']);
    expect(await statusFor({ token: 'wrong-key-0123456789-wrong' })).toEqual([401, 'unauthorized']);
    expect(await statusFor({ token: BOB })).toEqual([404, 'sandbox_not_found']);
  });

  test('answers 401 before it checks the handshake', async () => {
    const answer = await rawExchange(
      porthole.host.port,
      `GET /v1/sandbox/${id}/pty?cols=abc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain('{"error":"Unauthorized","code":"unauthorized","retryable":false}');
  });

  test('accepts a key in the query like one in the header, and logs neither', async () => {
    const terminal = await openTerminal(porthole.host.port, id, {
      query: { authorization: `Bearer ${ALICE}` },
    });
    await terminal.leave();
    expect(await statusFor({ query: { authorization: `Bearer ${BOB}` } })).toEqual([
      404,
      'sandbox_not_found',
    ]);
    expect(await statusFor({ query: { authorization: ALICE } })).toEqual([401, 'unauthorized']);
    expect(await statusFor({ token: BOB, query: { authorization: `Bearer ${ALICE}` } })).toEqual([
      404,
      'sandbox_not_found',
    ]);
    expect(porthole.logged.some((line) => line.includes('ptyTerminal'))).toBe(true);
    expect(porthole.logged.filter((line) => [ALICE, BOB].some((key) => line.includes(key)))).toEqual([]);
  });

  test('accepts a key in the query on no other route', async () => {
    const query = `authorization=Bearer%20${ALICE}`;
    for (const path of [`/v1/sandbox/${id}/running`, '/v1/openapi.json']) {
      expect((await porthole.call('GET', `${path}?${query}`)).status).toBe(401);
    }
  });

  test('gives the agent of a run terminals in its own sandbox only', async () => {
    const own = await makeRun(porthole, ALICE);
    const other = await makeRun(porthole, ALICE);
    const terminal = await openTerminal(porthole.host.port, own.sandboxId, { token: own.agentToken });
    await terminal.leave();
    const answer = await refusedTerminal(porthole.host.port, own.sandboxId, { token: other.agentToken });
    expect(answer.status).toBe(404);
  });
});

test('reports the end of the host to its terminals, and does not wait for clients', async () => {
  const porthole = await startTestHost();
  const { sandboxId } = await makeRun(porthole);
  const options = [{}, { query: { session: 'kept' } }];
  const terminals = await Promise.all(
    options.map((each) => openTerminal(porthole.host.port, sandboxId, each)),
  );
  const silent = await openTerminal(porthole.host.port, sandboxId);
  silent.socket.pause();
  await porthole.close();
  expect(await Promise.all(terminals.map(({ closed }) => closed))).toEqual([1001, 1001]);
  for (const terminal of terminals) {
    expect(terminal.messages.at(-1)).toEqual({
      type: 'error',
      message: 'Porthole is ending here, and its terminals with it: connect again.',
    });
  }
  silent.socket.terminate();
  const again = await startTestHost({}, { dataDir: porthole.dataDir });
  await again.end();
});
