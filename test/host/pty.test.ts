import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { terminalAccess } from './pty/terminal-access.ts';
import { terminalSessions } from './pty/terminal-sessions.ts';
import { ALICE, PEOPLE } from './support/people.ts';
import { makeRun, stopSandbox } from './support/runs.ts';
import { type Terminals, terminalsOf } from './support/terminals.ts';

// The bridge's contract covers what terminals do on every provider.
describe('the terminal', () => {
  let porthole: TestHost;
  let here: Terminals;
  /** Of a new sandbox. */
  const elsewhere = async () => terminalsOf(porthole, (await makeRun(porthole, ALICE)).sandboxId, ALICE);
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    here = await elsewhere();
  });
  afterAll(() => porthole.end());

  test('is 80 by 24 where nothing is asked for, and takes sizes up to 4096', async () => {
    const terminal = await here.quiet({ query: { cols: '', rows: '' } });
    terminal.type('stty size\n');
    await terminal.shows('24 80\r\n');
    terminal.socket.send(JSON.stringify({ type: 'resize', cols: 4096, rows: 1 }));
    terminal.type('stty size; tput cols\n');
    await terminal.shows('1 4096\r\n4096\r\n');
    await terminal.leave();
  });

  test.each([
    ['without a session', {}],
    ['of a session', { session: 'prompted' }],
  ])('has the working directory in its prompt %s', async (_name, query) => {
    const terminal = await here.open({ query });
    await terminal.shows('/workspace $ ');
    terminal.type('cd outputs\n');
    await terminal.shows('/workspace/outputs $ ');
    await terminal.leave();
  });

  test('reports a new size to a program at once', async () => {
    const terminal = await here.quiet();
    terminal.type(`bash -c 'trap "stty size" WINCH; echo se""t; while :; do sleep 0.02; done'\n`);
    await terminal.shows('set\r\n');
    terminal.socket.send('{"type":"resize","cols":77,"rows":11}');
    await terminal.shows('11 77\r\n');
    await terminal.leave();
  });

  test('answers what it cannot parse with an error message, and does not end', async () => {
    const terminal = await here.quiet();
    const invalid = 'Invalid control message';
    const dimensions = 'Invalid dimensions: cols and rows must be positive';
    const cases: [string, string][] = [
      ['{', invalid],
      ['x'.repeat(5_000), invalid],
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

  test('passes bytes on as they are, both ways', async () => {
    const terminal = await here.quiet();
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    terminal.type('stty raw; head -c 256 | tee all; stty sane; stty -echo; echo do""ne\n');
    await here.eventually('[ -e all ]');
    terminal.type(all);
    await terminal.shows('done');
    expect(terminal.output.includes(all)).toBe(true);
    expect(await here.sh('sha256sum < all')).toBe(
      await here.sh(`printf '${all.toString('hex').replace(/../g, '\\x$&')}' | sha256sum`),
    );
    await terminal.leave();
  });

  test('gives control characters their meaning', async () => {
    const terminal = await here.quiet();
    terminal.type(`bash -c 'trap "echo interr""upted" INT; sleep 1001'\n`);
    await here.eventually('pgrep -fx "sleep 1001" >/dev/null');
    terminal.type('\x03');
    await terminal.shows('interrupted');
    // Its prompt says that the shell reads again: before that, the last ^D would be lost.
    terminal.type('PS1=typed; cat > typed\n');
    await here.eventually('[ -e typed ]');
    terminal.type('naïve – 窓 🪟x\x7f\n\x04');
    await terminal.shows('typed');
    terminal.type('\x04');
    expect(await terminal.closed).toBe(1000);
    expect(await here.sh('cat typed')).toBe('naïve – 窓 🪟\n');
    expect(terminal.messages.at(-1)).toMatchObject({ type: 'exit' });
  });

  test('lets a full-screen program draw, read keys and restore the screen', async () => {
    const terminal = await here.quiet({ query: { cols: 60, rows: 12 } });
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
    const terminal = await here.quiet();
    const before = terminal.output.length;
    terminal.type("head -c 5000000 /dev/zero | tr '\\0' x; printf end; exit 3\n");
    expect(await terminal.closed).toBe(1000);
    const shown = terminal.output.subarray(before);
    expect([shown.length, shown.subarray(-4).toString()]).toEqual([5_000_003 + 'exit\r\n'.length, 'it\r\n']);
    expect(shown.subarray(-9).toString()).toBe('endexit\r\n');
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 3 });
  });

  test('reports the signal that ended a shell by code and name', async () => {
    const terminal = await here.open();
    terminal.type('kill -KILL $$\n');
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 137, signal: 'SIGKILL' });
  });

  test.each([
    ['sh', '$0', 'sh\r\n'],
    ['/bin/bash', '$BASH', '/bin/bash\r\n'],
  ])('accepts %s as the shell', async (shell, name, shown) => {
    const terminal = await here.open({ query: { shell } });
    terminal.type(`echo ${name}; exit\n`);
    await terminal.closed;
    expect(terminal.output.toString()).toContain(shown);
  });

  test('exits with 127 when the shell does not exist', async () => {
    const terminal = await here.open({ query: { shell: 'no-such-shell' } });
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 127 });
  });

  describe('without a session', () => {
    test('ends with its socket, and leaves nothing behind', async () => {
      const terminal = await here.quiet();
      terminal.type('sleep 4441 & sleep 4442\n');
      await here.eventually('pgrep -fx "sleep 4442" >/dev/null');
      terminal.socket.terminate();
      expect(await here.eventually('! pgrep -fx "sleep 444[12]" >/dev/null')).toBe(true);
    });

    test('leaves a program running that is started to outlive its terminal', async () => {
      const own = await elsewhere();
      const terminal = await own.quiet();
      terminal.type('nohup sleep 4443 >/dev/null 2>&1 &\n');
      await own.eventually('pgrep -fx "sleep 4443" >/dev/null');
      await terminal.leave();
      expect(await own.eventually('[ "$(pgrep -xc bash)" = 1 ]')).toBe(true);
      expect(await own.sh('pgrep -fxc "sleep 4443"')).toBe('1\n');
    });

    test('opens a separate terminal for each socket', async () => {
      const [one, other] = await Promise.all([here.quiet(), here.quiet()]);
      one.type('mine=1; echo "one: ${mine-none}"\n');
      await one.shows('one: 1');
      other.type('echo "other: ${mine-none}"\n');
      await other.shows('other: none');
      await Promise.all([one.leave(), other.leave()]);
    });

    test('mixes none of fifty at once', async () => {
      const all = await Promise.all(Array.from({ length: 50 }, () => here.open()));
      all.forEach((terminal, n) => terminal.type(`echo "I am $((${n} + 1000))"; exit ${n}\n`));
      const codes = await Promise.all(all.map((terminal) => terminal.closed));
      expect(new Set(codes)).toEqual(new Set([1000]));
      expect(all.map((terminal) => terminal.messages.at(-1))).toEqual(
        all.map((_, n) => ({ type: 'exit', code: n })),
      );
      all.forEach((terminal, n) => expect(terminal.output.toString()).toContain(`I am ${n + 1000}\r\n`));
    });
  });

  describe('of a session', () => terminalSessions(() => porthole, elsewhere));

  test.each(['', 'kept'])('closes when its sandbox is deleted (session %j)', async (session) => {
    const own = await elsewhere();
    const terminal = await own.open({ query: { session } });
    await own.destroy();
    expect(await terminal.closed).toBe(1001);
    expect(terminal.messages.at(-1)).toEqual({
      type: 'error',
      message: `Sandbox ${own.id} was deleted, and its terminal ended with it. Create a sandbox with POST /v1/sandbox.`,
    });
  });

  test('closes when its sandbox is stopped; another one brings the sandbox back', async () => {
    const own = await elsewhere();
    const terminal = await own.open();
    await stopSandbox(porthole, own.id);
    expect(await terminal.closed).toBe(1001);
    expect(terminal.reported.at(-1)?.['message']).toBe(
      `Sandbox ${own.id} was stopped, and its terminal ended with it. POST /v1/sandbox/${own.id}/resume brings it back with its files.`,
    );
    const again = await own.open();
    again.type('exit 7\n');
    expect(await again.closed).toBe(1000);
  });

  test('creates a sandbox that does not exist', async () => {
    const terminal = await terminalsOf(porthole, 'terminalbysomeoneelse', ALICE).open();
    terminal.type('exit 9\n');
    expect(await terminal.closed).toBe(1000);
    expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 9 });
  });

  test('stops the program while a viewer does not read, and continues its output where it stopped', async () => {
    const terminal = await here.quiet();
    terminal.socket.pause();
    terminal.type(
      "for ((n = 1; n <= 12000; n++)); do printf '%01000d' $n; echo $n > count; done; echo al''l; exit 6\n",
    );
    const counted = async () => Number(await here.sh('sleep 0.5; cat count 2>/dev/null'));
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

  test('leaves nothing behind for clients that go at any moment', async () => {
    const own = await elsewhere();
    const url = `ws://127.0.0.1:${porthole.host.port}/v1/sandbox/${own.id}/pty`;
    const gone = Array.from({ length: 60 }, async (_, n) => {
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${ALICE}` } });
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      if (n % 3 === 0) socket.once('upgrade', () => socket.terminate());
      else if (n % 3 === 1) socket.once('message', () => socket.terminate());
      else setTimeout(() => socket.terminate(), n / 2);
      await closed;
    });
    await Promise.all(gone);
    expect(await own.eventually('[ "$(pgrep -xc bash)" = 1 ]')).toBe(true);
  });

  test('ends the socket with 1009 after a message of more than 1 MiB', async () => {
    const terminal = await here.open();
    terminal.type(Buffer.alloc(1024 * 1024 + 1, 'x'));
    expect(await terminal.closed).toBe(1009);
  });

  terminalAccess(
    () => porthole,
    () => here,
  );

  // The last test: it ends the host.
  test('reports the end of the host to its terminals, and does not wait for clients', async () => {
    const options = [{}, { query: { session: 'ended' } }];
    const terminals = await Promise.all(options.map((each) => here.open(each)));
    const silent = await here.open();
    silent.socket.pause();
    await porthole.close();
    expect(await Promise.all(terminals.map(({ closed }) => closed))).toEqual([1001, 1001]);
    for (const terminal of terminals) {
      expect(terminal.messages.at(-1)).toEqual({
        type: 'error',
        message: 'Porthole is shutting down: connect again.',
      });
    }
    silent.socket.terminate();
    porthole = await startTestHost(PEOPLE, { dataDir: porthole.dataDir });
  });
});
