import { afterAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, refusal, run } from './bridge-client.ts';

/** The WebSocket of a terminal, with everything it has received. */
class Terminal {
  readonly socket: WebSocket;
  readonly messages: (Buffer | Readonly<Record<string, unknown>>)[] = [];
  closed: number | undefined;
  #wakes: (() => void)[] = [];

  constructor(port: number, key: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    this.socket.on('message', (data: Buffer, isBinary) => {
      this.messages.push(isBinary ? data : (JSON.parse(data.toString()) as Record<string, unknown>));
      this.#wake();
    });
    this.socket.on('close', (code) => {
      this.closed = code;
      this.#wake();
    });
    this.socket.on('error', () => this.#wake());
  }

  get output(): string {
    return Buffer.concat(
      this.messages.filter((message): message is Buffer => message instanceof Buffer),
    ).toString();
  }

  get controls(): unknown[] {
    return this.messages.filter((message) => !(message instanceof Buffer));
  }

  async until(holds: () => boolean): Promise<this> {
    while (!holds()) {
      if (this.closed !== undefined)
        throw new Error(`closed with ${this.closed}: ${this.output.slice(-500)}`);
      await new Promise<void>((resolve) => this.#wakes.push(resolve));
    }
    return this;
  }

  ready(): Promise<this> {
    return this.until(() => this.controls.some((each) => (each as { type: string }).type === 'ready'));
  }

  async shows(text: string | RegExp): Promise<this> {
    return this.until(() => (typeof text === 'string' ? this.output.includes(text) : text.test(this.output)));
  }

  type(keys: string): this {
    this.socket.send(Buffer.from(keys), { binary: true });
    return this;
  }

  async over(): Promise<number> {
    while (this.closed === undefined) await new Promise<void>((resolve) => this.#wakes.push(resolve));
    return this.closed;
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }
}

export function ptyContract(bridge: UnderTest, id: () => string): void {
  describe('a terminal', () => {
    const opened: Terminal[] = [];
    afterAll(() => {
      for (const { socket } of opened) socket.terminate();
    });

    const open = (query = '', headers: Readonly<Record<string, string>> = {}) => {
      const terminal = new Terminal(bridge().port, bridge().key, `/v1/sandbox/${id()}/pty${query}`, headers);
      opened.push(terminal);
      return terminal;
    };
    /** A plain request with the headers of a WebSocket, answered without an upgrade. */
    const refused = async (query: string, headers: Readonly<Record<string, string>> = {}) => {
      const { socket } = open(query, headers);
      const [, response] = (await once(socket, 'unexpected-response')) as [
        unknown,
        NodeJS.ReadableStream & { statusCode: number },
      ];
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return [response.statusCode, JSON.parse(Buffer.concat(chunks).toString()) as unknown];
    };

    test('shows a shell, in the workspace, of the size that is asked for', async () => {
      const terminal = await open('?cols=101&rows=37').ready();
      terminal.type('stty size; echo "$TERM in $PWD"\r');
      await terminal.shows('37 101');
      await terminal.shows('xterm-256color in /workspace');
      terminal.socket.close();
    });

    test('changes its size', async () => {
      const terminal = await open().ready();
      terminal.type('stty size\r');
      await terminal.shows('24 80');
      terminal.socket.send(JSON.stringify({ type: 'resize', cols: 133, rows: 44 }));
      // The new size and the input may take two different paths.
      terminal.type('until stty size | grep -q ^44; do sleep 0.05; done; stty size\r');
      await terminal.shows('44 133');
      terminal.socket.close();
    });

    test('tells its exit after everything it showed, and closes with 1000', async () => {
      const terminal = await open().ready();
      terminal.type('head -c 300000 /dev/zero | tr "\\\\0" x; echo; exit 42\r');
      expect(await terminal.over()).toBe(1000);
      expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 42 });
      expect(terminal.output).toMatch(/x{300000}/);
    });

    test('answers what is no control message, and goes on', async () => {
      const terminal = await open().ready();
      terminal.socket.send('no json');
      terminal.socket.send(JSON.stringify({ type: 'resize', cols: 0, rows: 5 }));
      terminal.socket.send(JSON.stringify({ type: 'unknown' }));
      await terminal.until(() => terminal.controls.length >= 3);
      expect(terminal.controls.slice(1)).toEqual([
        { type: 'error', message: 'Invalid control message' },
        { type: 'error', message: 'Invalid dimensions: cols and rows must be positive' },
      ]);
      terminal.type('echo still here\r');
      await terminal.shows(/still here\r?\n/);
      terminal.socket.close();
    });

    test('survives its client when it has a session, and shows again what it showed', async () => {
      const first = await open('?session=shared').ready();
      first.type('echo once-$((6*7))\r');
      await first.shows('once-42');
      first.socket.close();
      await first.over();
      const second = await open('', { 'session-id': 'shared' }).ready();
      const readyAt = second.messages.findIndex((message) => !(message instanceof Buffer));
      expect(Buffer.concat(second.messages.slice(0, readyAt) as Buffer[]).toString()).toContain('once-42');
      const third = await open('?session=shared').ready();
      third.type('echo to-$((1+1))-both\r');
      await Promise.all([second.shows('to-2-both'), third.shows('to-2-both')]);
      third.type('exit\r');
      expect(await Promise.all([second.over(), third.over()])).toEqual([1000, 1000]);
    });

    test('begins in the folder of its session, with its environment', async () => {
      await run(bridge(), id(), ['eval', 'mkdir -p deep; cd deep; export MOTTO=onward'], {
        session: 'place',
      });
      const terminal = await open('?session=place').ready();
      terminal.type('echo "[$MOTTO in $PWD]"\r');
      await terminal.shows('[onward in /workspace/deep]');
      terminal.type('exit\r');
      await terminal.over();
    });

    test('ends with its socket when it has no session', async () => {
      const terminal = await open().ready();
      terminal.type('echo pid-$$-\r');
      await terminal.shows(/pid-\d+-/);
      const pid = /pid-(\d+)-/.exec(terminal.output)?.[1] ?? '';
      terminal.socket.close();
      for (let code: number | undefined = 0; code === 0; ) {
        ({ code } = await run(bridge(), id(), ['sh', '-c', 'grep -qv ") Z " "/proc/$1/stat"', 'sh', pid]));
      }
    });

    test('ends with its sandbox', async () => {
      const other = await create(bridge());
      const terminal = new Terminal(bridge().port, bridge().key, `/v1/sandbox/${other}/pty?session=s`);
      opened.push(terminal);
      await terminal.ready();
      await ask(bridge(), 'DELETE', `/v1/sandbox/${other}`);
      expect(await terminal.over()).toBeGreaterThanOrEqual(1000);
    });

    test('is asked for by a WebSocket alone', async () => {
      expect(refusal(await ask(bridge(), 'GET', `/v1/sandbox/${id()}/pty`))).toEqual([
        400,
        'invalid_request',
        'WebSocket upgrade required',
      ]);
    });

    test.each([
      ['no number of columns', '?cols=x', 'cols and rows must be valid numbers'],
      ['no number of rows', '?rows=many', 'cols and rows must be valid numbers'],
      ['a session id that is none', '?session=a%2Fb', 'Invalid session ID format'],
    ])('is refused with %s before it is opened', async (_what, query, error) => {
      expect(await refused(query)).toEqual([400, { error, code: 'invalid_request', retryable: false }]);
    });

    test('asks for the key', async () => {
      expect(await refused('', { authorization: 'Bearer wrong' })).toEqual([
        401,
        { error: 'Unauthorized', code: 'unauthorized', retryable: false },
      ]);
    });
  });
}
