import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, type Server, type Socket as NetSocket, connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type OpenSocket, Porthole } from '../../client/index.ts';
import { openNodeSocket } from '../../client/node/index.ts';
import { openPlatformSocket } from '../../client/resources/open-socket.ts';
import type { Sandbox } from '../../client/resources/sandbox.ts';
import type { Terminal } from '../../client/resources/terminal.ts';

/** Reads a terminal until it has shown the words. */
class Screen {
  text = '';
  readonly #shown: AsyncIterator<Uint8Array, void>;

  constructor(terminal: Terminal) {
    this.#shown = terminal[Symbol.asyncIterator]();
  }

  async until(words: string): Promise<string> {
    while (!this.text.includes(words)) {
      const { done, value } = await this.#shown.next();
      if (done === true) throw new Error(`it ended, and had shown ${JSON.stringify(this.text)}`);
      this.text += Buffer.from(value).toString();
    }
    return this.text;
  }
}

/** A proxy to a port that can be cut. */
async function startWay(port: number): Promise<{ port: number; cut: () => void; end: () => void }> {
  const open = new Set<NetSocket>();
  const server: Server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        open.delete(socket);
      });
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => open.forEach((socket) => socket.destroy());
  return { port: (server.address() as AddressInfo).port, cut, end: () => void (cut(), server.close()) };
}

describe.each([
  ['the platform’s WebSocket', openPlatformSocket],
  ['Node’s own sockets', openNodeSocket],
] satisfies [string, OpenSocket][])('a terminal over %s', (_, openSocket) => {
  let host: TestHost;
  let sandbox: Sandbox;
  let way: Awaited<ReturnType<typeof startWay>>;

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    way = await startWay(host.host.port);
    const porthole = new Porthole({ url: `http://127.0.0.1:${way.port}`, apiKey: ALICE, openSocket });
    sandbox = await porthole.sandboxes.create();
  });
  afterAll(async () => {
    way.end();
    await host.end();
  });

  test('shows, takes what is typed, has a size, and ends with the shell', async () => {
    const terminal = sandbox.terminal({ cols: 100, rows: 30, shell: 'sh' });
    // Before the terminal is ready: typed ahead.
    terminal.write('echo "size: $(stty size)"\n');
    await terminal.ready;
    const screen = new Screen(terminal);
    await screen.until('size: 30 100');
    terminal.resize(120, 40);
    terminal.write(
      Buffer.from('until [ "$(stty size)" = "40 120" ]; do sleep 0.05; done; echo resized: "$(stty size)"\n'),
    );
    await screen.until('resized: 40 120');
    terminal.write('exit 7\n');
    expect(await terminal.exit).toEqual({ code: 7 });
    await expect(screen.until('never shown')).rejects.toThrow('it ended');
  });

  test('comes back to a session after a lost connection, with what it showed', async () => {
    const terminal = sandbox.terminal({ session: 'kept', shell: 'sh' });
    await terminal.ready;
    const screen = new Screen(terminal);
    terminal.write('word=before; echo "$word: shown"\n');
    await screen.until('before: shown');
    way.cut();
    await screen.until('\u001bc');
    terminal.write('echo "$word and after"\n');
    const text = await screen.until('before and after');
    const [, again] = text.split('\u001bc');
    expect(again).toContain('before: shown');
    terminal.close();
    await expect(terminal.exit).rejects.toMatchObject({ code: 'closed' });
    await sandbox.sessions.delete('kept');
  });

  test('ends with its connection when it has no session', async () => {
    const terminal = sandbox.terminal({ shell: 'sh' });
    await terminal.ready;
    way.cut();
    await expect(terminal.exit).rejects.toThrow('The terminal is gone');
  });

  test('reports that it is refused', async () => {
    const terminal = sandbox.terminal({ cols: 5_000 });
    await expect(terminal.ready).rejects.toMatchObject({ name: 'PortholeError', status: 0 });
  });

  test('hangs up when it is left', async () => {
    const end = new AbortController();
    const terminal = sandbox.terminal({ shell: 'sh', signal: end.signal });
    await terminal.ready;
    end.abort(new Error('enough'));
    await expect(terminal.exit).rejects.toThrow('enough');
  });
});
